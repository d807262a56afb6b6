export { durableObjects } from "../durable-objects/index.ts";
export type { TaskIndexClass } from "../durable-objects/task-index.ts";
export type { TaskObjectClass } from "../durable-objects/task-object.ts";
export type { AuditRecord, AuditSink } from "./agent/audit.ts";
export type { AuthScheme, Principal } from "./agent/auth-scheme.ts";
export type { ArtifactInput, ArtifactOptions, Content } from "./agent/content.ts";
export {
  type Agent,
  type AgentDefinition,
  type AuthorizeRequest,
  type CardChanges,
  defineAgent,
} from "./agent/define-agent.ts";
export type { Authorization } from "./agent/durable-calls.ts";
export type { Duration } from "./agent/duration.ts";
export type { Limits } from "./agent/limits.ts";
export type { PushOptions } from "./agent/push-options.ts";
export type { RateLimit, RateLimits } from "./agent/rate-limit.ts";
export { AnswerTimeoutError, NonRetryableError } from "./agent/remembered.ts";
export { SKILL_EXTENSION, type Skill } from "./agent/skill.ts";
export type { StepContext, StepOptions, StepWork } from "./agent/step.ts";
export type { Tenants } from "./agent/tenants.ts";
export type { Turn, TurnEnd, TurnResult } from "./agent/turn.ts";
export { type ApiKeyOptions, apiKey } from "./edge/auth/api-key.ts";
export { type BasicOptions, basic } from "./edge/auth/basic.ts";
export { type BearerJwtOptions, bearerJwt } from "./edge/auth/bearer-jwt.ts";
export { allOf, anyOf } from "./edge/auth/combine.ts";
export { type MtlsOptions, mtls } from "./edge/auth/mtls.ts";
export { type OAuth2Flow, type OAuth2Options, oauth2 } from "./edge/auth/oauth2.ts";
export { type OidcOptions, oidc } from "./edge/auth/oidc.ts";
export { open } from "./edge/auth/open.ts";
export type { Bindings } from "./env.ts";
export {
  deleteTask,
  deleteTasksOf,
  type OwnerName,
  pushDeliveries,
  replayPush,
  restartPush,
  resumeTask,
} from "./operator.ts";
export type { Caller } from "./protocol/caller.ts";
export type { AgentCard, AgentExtension, AgentProvider, AgentSkill } from "./protocol/card.ts";
export { A2AError, type Reason } from "./protocol/errors.ts";
export type { Message, Part } from "./protocol/message.ts";
export type { Artifact, StreamResponse, Task, TaskState, TaskStatus } from "./protocol/task.ts";
export type { DeliveryState } from "./push/job.ts";
export type { SignatureAlgorithm } from "./signature/algorithm.ts";
export { type CardKey, type CardSigning, signWith } from "./signature/sign.ts";
export { worker } from "./worker.ts";
