/** What clients of agents need of cards: the entry point `durable-a2a/card`, which runs anywhere. */
export type { AgentCard } from "./protocol/card.ts";
export type { SignatureAlgorithm } from "./signature/algorithm.ts";
export { CardSignatureError, type Refusal, type RefusalCode } from "./signature/refusal.ts";
export { type VerifyOptions, verifyCard } from "./signature/verify.ts";
