/** The same agent on the official SDK. */
import { AgentCard, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  type RequestContext,
  type TaskStore,
} from "@a2a-js/sdk/server";
import { readRequest, untilReleased, words } from "../words.ts";

const card: AgentCard = AgentCard.fromJSON({
  name: "Greeter",
  description: "Greets people by name",
  version: "1.0.0",
  supportedInterfaces: [
    { url: "http://127.0.0.1/", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    { url: "http://127.0.0.1/", protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
  ],
  capabilities: { streaming: true, pushNotifications: false },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "greet", name: "Greet", description: "Says hello", tags: ["hello"] }],
});

class Greeter implements AgentExecutor {
  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const { taskId, contextId, userMessage } = context;
    const content = userMessage.parts[0]?.content;
    const text = content?.$case === "text" ? content.value : "";
    bus.publish(
      AgentEvent.task(
        Task.fromJSON({
          id: taskId,
          contextId,
          status: { state: "TASK_STATE_WORKING", timestamp: now() },
          history: [],
        }),
      ),
    );
    const { kind, count, burst } = readRequest(text);
    const publish = (artifact: object, flags: object = {}) => {
      const event = {
        taskId,
        contextId,
        artifact,
        ...flags,
      };
      bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON(event)));
    };
    if (kind === "hello") {
      publish({ artifactId: "artifact-1.1", parts: [{ text: `Hello, ${text}!` }] });
    } else {
      if (kind === "held") await untilReleased(taskId);
      let append = false;
      for await (const word of words(count, burst)) {
        publish({ artifactId: "words", name: "words", parts: [{ text: word }] }, { append });
        append = true;
      }
    }
    const completed = {
      taskId,
      contextId,
      status: { state: "TASK_STATE_COMPLETED", timestamp: now() },
    };
    bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(completed)));
    bus.finished();
  }

  async cancelTask(): Promise<void> {}
}

export function requestHandler(store: TaskStore): DefaultRequestHandler {
  return new DefaultRequestHandler(card, store, new Greeter());
}

function now(): string {
  return new Date().toISOString();
}
