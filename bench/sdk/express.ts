/** The official SDK on Express with its tasks in memory, as its samples have it. `node express.ts <port>`. */
import { InMemoryTaskStore } from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import express from "express";
import { release } from "../words.ts";
import { requestHandler } from "./agent.ts";

const handler = requestHandler(new InMemoryTaskStore());
const app = express();
app.get("/bench/release", (request, response) => {
  release(String(request.query.task));
  response.send("done");
});
app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: handler }));
app.use("/", jsonRpcHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication }));
app.listen(Number(process.argv[2]), "127.0.0.1");
