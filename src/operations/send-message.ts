import { matchesMediaType } from "../agent/media-type.ts";
import { type Caller, ownerOf } from "../protocol/caller.ts";
import { A2AError, unwrap } from "../protocol/errors.ts";
import type { SendMessageRequest, SendMessageResponse } from "../protocol/requests.ts";
import { findTask } from "./find-task.ts";
import { idempotencyOf } from "./idempotency.ts";
import { checkMessageLimits } from "./message-limits.ts";
import { admit } from "./owner-limits.ts";
import type { Ports, SendInput, TaskPort } from "./ports.ts";
import { checkTarget, configured } from "./push-configs.ts";
import { followTask, isLost, reattach, type TaskStream } from "./reattach.ts";

/** §3.1.1: a message to a new task or to the one it names; answered with the task, or with a message. */
export async function sendMessage(
  caller: Caller,
  request: SendMessageRequest,
  ports: Ports,
): Promise<SendMessageResponse> {
  const { id, task, input } = await prepare(caller, request, ports);
  const { returnImmediately = false, historyLength } = request.configuration ?? {};
  const resume = async () => {
    const sent = { requestId: caller.requestId, key: input.idempotency?.key };
    const result = await ports.tasks.find(id)?.resume(input.owner, sent, { historyLength });
    return isLost(result) ? undefined : result;
  };
  const repeatable = input.idempotency !== undefined;
  const admitted = await admit(ports, input.owner, { task: id, repeatable });
  const sent = await reattach(task.send(input, { returnImmediately, historyLength }), resume);
  await admitted.settle(sent);
  return unwrap(sent);
}

/** §3.1.2: the same, answered with a stream of what happens. */
export async function sendStreamingMessage(
  caller: Caller,
  request: SendMessageRequest,
  ports: Ports,
): Promise<TaskStream> {
  const { id, task, input } = await prepare(caller, request, ports);
  const repeatable = input.idempotency !== undefined;
  const admitted = await admit(ports, input.owner, { task: id, stream: true, repeatable });
  const opened = await task.stream(input);
  await admitted.settle(opened);
  return admitted.watch(followTask(id, input.owner, "input", unwrap(opened), ports));
}

async function prepare(
  caller: Caller,
  request: SendMessageRequest,
  ports: Ports,
): Promise<{ id: string; task: TaskPort; input: SendInput }> {
  const { message, configuration, metadata } = request;
  const { agent, tasks } = ports;
  checkMessageLimits(request, agent.limits);
  if (message.role !== "ROLE_USER") throw A2AError.field("message.role", "must be ROLE_USER");
  message.parts.forEach(({ mediaType }, index) => {
    if (mediaType === undefined || matchesMediaType(mediaType, agent.inputModes)) return;
    const description = `is none of ${agent.inputModes.join(", ")}`;
    throw new A2AError("CONTENT_TYPE_NOT_SUPPORTED", {
      message: `Content type not supported: message.parts[${index}].mediaType: ${description}`,
      fields: [{ field: `message.parts[${index}].mediaType`, description }],
    });
  });
  const pushConfig = configuration?.taskPushNotificationConfig;
  if (pushConfig) await checkTarget(pushConfig, ports, "configuration.taskPushNotificationConfig.");

  const idempotency = await idempotencyOf(caller, request, agent);
  const self = ownerOf(agent.id, caller);
  const { id, task, owner } =
    message.taskId === undefined
      ? { ...tasks.create(idempotency && JSON.stringify([self, idempotency.key])), owner: self }
      : { id: message.taskId, ...findTask(caller, message.taskId, ports) };
  const acceptedOutputModes = configuration?.acceptedOutputModes;
  return {
    id,
    task,
    input: {
      agentId: agent.id,
      owner,
      caller,
      message,
      metadata,
      acceptedOutputModes,
      push: pushConfig && configured(caller, pushConfig, ports),
      idempotency,
    },
  };
}
