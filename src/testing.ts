/** `durable-a2a/testing`: an agent under test, in workerd, under `@cloudflare/vitest-plugin`. */
export { type SendOptions, type Tester, type TesterOptions, testAgent } from "./testing/tester.ts";
