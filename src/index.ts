export { durableObjects } from "../durable-objects/index.ts";
export type { TaskIndexClass } from "../durable-objects/task-index.ts";
export type { TaskObjectClass } from "../durable-objects/task-object.ts";
export type { AuthScheme } from "./agent/auth-scheme.ts";
export type { ArtifactInput, ArtifactOptions, Content } from "./agent/content.ts";
export {
  type Agent,
  type AgentDefinition,
  type CardChanges,
  defineAgent,
  type PushOptions,
} from "./agent/define-agent.ts";
export type { Limits } from "./agent/limits.ts";
export type { Turn, TurnEnd, TurnResult } from "./agent/turn.ts";
export { type ApiKeyOptions, apiKey, open } from "./edge/auth.ts";
export type { Bindings } from "./env.ts";
export type { Caller } from "./protocol/caller.ts";
export type { AgentCard, AgentExtension, AgentProvider, AgentSkill } from "./protocol/card.ts";
export { A2AError, type Reason } from "./protocol/errors.ts";
export type { Message, Part } from "./protocol/message.ts";
export type { Artifact, StreamResponse, Task, TaskState, TaskStatus } from "./protocol/task.ts";
export type { SignatureAlgorithm } from "./signature/algorithm.ts";
export { type CardKey, type CardSigning, signWith } from "./signature/sign.ts";
export { worker } from "./worker.ts";
