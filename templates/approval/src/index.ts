import { defineAgent, durableObjects, type Message, open, worker } from "durable-a2a";
import { signOffPage } from "./sign-off.ts";

export const agent = defineAgent<Env>({
  name: "Deployer",
  description: "Deploys a service after a yes of its client and a signature of the owner of production",
  version: "1.0.0",
  skills: [{ id: "deploy", name: "Deploy", description: "Deploys a service", tags: ["deploy"] }],
  auth: open(), // required: who may call is never a default
  async run(turn) {
    const what =
      turn.text ||
      textOf(await turn.ask("what", "Which service, and which version?", { timeout: "3 days" }));

    // Days may pass, and deploys of this agent: nothing runs meanwhile, and the turn goes on here.
    const answer = await turn.ask("approval", `Deploy ${what} to production? Answer yes or no.`, {
      timeout: "3 days",
    });
    if (!/^yes\b/i.test(textOf(answer))) return turn.reject(`${what} was not deployed: no approval`);

    // The name of the authorization is the key of the link: whoever does not have it cannot sign.
    const key = await turn.step("key", () => crypto.randomUUID());
    const signed = await turn.authorize(
      key,
      `Have this signed by the owner of production: /sign-off?task=${turn.task.id}&key=${key}`,
      { timeout: "3 days" },
    );
    if (signed.via === "message") return turn.reject(`${what} was not deployed: not signed`);

    await turn.working(`Deploying ${what}`);
    const { id } = await turn.step("deploy", () => deploy(what));
    return `${what} is deployed as ${id}, signed by ${(signed.value as { by: string }).by}`;
  },
});

/** Runs once, however often the turn is cut off after it; put the call of your own system here. */
async function deploy(what: string): Promise<{ id: string }> {
  return { id: `deployment-${what.length}` };
}

function textOf({ parts }: Message): string {
  return parts
    .map(({ text = "" }) => text)
    .join("")
    .trim();
}

export const { TaskObject, TaskIndex } = durableObjects(agent);

const agents = worker(agent);
export default {
  ...agents,
  fetch(request, env, context) {
    const { pathname } = new URL(request.url);
    return pathname === "/sign-off" ? signOffPage(request, env) : agents.fetch(request, env, context);
  },
} satisfies ExportedHandler<Env>;
