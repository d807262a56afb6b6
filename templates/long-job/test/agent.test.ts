import { testAgent } from "durable-a2a/testing";
import { afterEach, expect, test } from "vitest";
import { agent } from "../src/index.ts";

const tester = testAgent(agent);
afterEach(() => tester.resetClock());

const WAITS = "Waiting for the last figures to settle";

/** A task that has counted, and waits. */
async function counted(): Promise<string> {
  const { id } = await tester.send("lamps", { returnImmediately: true });
  for (;;) {
    const { status } = await tester.get(id);
    if (status.message?.parts[0]?.text === WAITS) return id;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test("asks for the product", async () => {
  expect((await tester.send("")).status.state).toBe("TASK_STATE_INPUT_REQUIRED");
});

test("reports as text, data and CSV, each with its media type and hash", async () => {
  const id = await counted();
  await tester.advance("12 seconds");
  const { status, artifacts = [] } = await tester.until(id);
  expect(status.state).toBe("TASK_STATE_COMPLETED");
  expect(artifacts.map(({ parts }) => parts[0]?.mediaType)).toEqual([
    "text/plain",
    "application/json",
    "text/csv",
  ]);
  expect(artifacts[0]?.parts[0]?.text).toMatch(/^lamps: \d+ sold from January to April$/);
  expect(artifacts[1]?.parts[0]?.data).toMatchObject({ product: "lamps" });
  for (const { parts, metadata } of artifacts) {
    const [{ text, data } = {}] = parts;
    const bytes = new TextEncoder().encode(text ?? JSON.stringify(data));
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    expect(metadata?.sha256).toBe(hash.toHex());
  }
});

test("a crash while it waits loses nothing", async () => {
  const id = await counted();
  await tester.cut();
  await tester.advance("12 seconds");
  expect((await tester.until(id)).artifacts).toHaveLength(3);
});
