/**
 * What parts of programs in the documentation stand in: names that a reader knows from the text around them. Blocks that
 * are whole modules need nothing of it.
 */
import type { Client } from "@a2a-js/sdk/client";
import type { AgentDefinition } from "durable-a2a";

declare global {
  /** Stands for `// …` in a definition. */
  const rest: AgentDefinition;
  const env: unknown;
  const taskId: string;
  const id: string;
  const request: Request;
  const issuer: string;
  const audience: string;
  const keys: JsonWebKey[];
  const jwkSet: { keys: JsonWebKey[] };
  const client: Client;
  function receive(request: Request): Promise<Response>;
  function use(taskId: string, response: unknown): Promise<void>;
  function insertUnlessThere(id: string, until: number): Promise<boolean>;
  function remove(id: string): Promise<void>;
}
