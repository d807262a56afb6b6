import type { Caller } from "../src/protocol/caller.ts";
import type { TaskEvent } from "../src/task/event.ts";

/** Somebody at an agent that is open to anyone. */
export const anyone: Caller = {
  scheme: "open",
  principal: "",
  scopes: [],
  tenant: "",
  extensions: [],
  requestId: "r",
};

/** The events with which every log begins. */
export function birth(taskId: string): TaskEvent[] {
  return [
    { kind: "created", agentId: "script", owner: "o", taskId, contextId: "c" },
    {
      kind: "message",
      message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] },
      caller: anyone,
      time: "2026-01-01T00:00:01.000Z",
    },
  ];
}
