/** The pages of ListTasks and their tokens (CASES.md, group 4; §3.1.4). */
import type { Task } from "durable-a2a";
import { beforeAll, describe, expect, test } from "vitest";
import { BINDINGS, expectRefused, send } from "./bindings.ts";
import { script } from "./client.ts";
import { ALICE, ask, BOB, ids, list, MIRROR, make, type Page, pages } from "./lists.ts";

describe("an owner with 41 tasks of one context", () => {
  beforeAll(async () => {
    await Promise.all(
      Array.from({ length: 41 }, () => send("rest", "hi", { contextId: "many" }, ALICE)),
    );
  });

  describe.each(BINDINGS)("over %s", (binding) => {
    test.each([
      [{}, 50, [41]],
      [{ pageSize: 100 }, 100, [41]],
      [{ pageSize: 41 }, 41, [41]],
      [{ pageSize: 40 }, 40, [40, 1]],
      [{ pageSize: 20 }, 20, [20, 20, 1]],
      [{ pageSize: 100, includeArtifacts: true }, 40, [40, 1]],
      [{ historyLength: 1 }, 40, [40, 1]],
      [{ pageSize: 30, historyLength: 0, includeArtifacts: false }, 30, [30, 11]],
    ])(
      "gets with %o pages of %i: %o, the total the same on each (L-04)",
      async (params, pageSize, sizes) => {
        const all = await pages(binding, { contextId: "many", ...params });
        expect(all.map(({ tasks }) => tasks.length)).toEqual(sizes);
        for (const page of all) expect(page).toMatchObject({ pageSize, totalSize: 41 });
        const tasks = all.flatMap((page) => page.tasks);
        expect(new Set(tasks.map(({ id }) => id)).size).toBe(41);
        const times = tasks.map(({ status }) => status.timestamp ?? "");
        expect(times).toEqual(times.toSorted().reverse());
      },
    );

    test.each([0, 101, -1, "abc", "1.5"])("is refused a pageSize of %s (L-04)", async (pageSize) => {
      expectRefused(await ask(binding, { pageSize }), "INVALID_PARAMS", "pageSize");
    });

    test("gets one task of a page of 1", async () => {
      const page = await list(binding, { contextId: "many", pageSize: 1 });
      expect(page.tasks).toHaveLength(1);
      expect(page).toMatchObject({ pageSize: 1, totalSize: 41 });
      expect(page.nextPageToken).not.toBe("");
    });

    test("is refused page tokens that are not of its list, with the field named (L-09)", async () => {
      const { nextPageToken: token } = await list(binding, { pageSize: 1 });
      await make(2, script(), BOB);
      await make(2, script(), MIRROR);
      const foreign = [
        await list(binding, { pageSize: 1 }, BOB),
        await list(binding, { pageSize: 1 }, MIRROR),
      ];
      const tokens = [
        ...foreign.map(({ nextPageToken }) => nextPageToken),
        token.slice(0, -3),
        `x${token}`,
      ];
      for (const pageToken of [...tokens, "garbage", "W10", "bnVsbA", "%%%", "🙂"]) {
        expect(pageToken).not.toBe("");
        expectRefused(await ask(binding, { pageToken }), "INVALID_PARAMS", "pageToken");
      }
      expectRefused(await ask(binding, { pageToken: token }, BOB), "INVALID_PARAMS", "pageToken");
      expect((await list(binding, { pageSize: 1, pageToken: token })).tasks).toHaveLength(1);
    });
  });
});

describe.each(BINDINGS)("over %s", (binding) => {
  test("a page goes on behind its last task also when that one has changed (L-14)", async () => {
    const made = await make(6, script({ do: "input" }));
    const { contextId } = made[0] as Task;
    const expected = made.map(({ id }) => id).reverse();
    const first = await list(binding, { contextId, pageSize: 2 });
    expect(ids(first)).toEqual(expected.slice(0, 2));
    await send(binding, "done", { taskId: expected[1] }, ALICE);
    const [second, third] = await pages(binding, {
      contextId,
      pageSize: 2,
      pageToken: first.nextPageToken,
    });
    expect([...ids(second as Page), ...ids(third as Page)]).toEqual(expected.slice(2));
    expect(second).toMatchObject({ totalSize: 6 });
    expect(third).toMatchObject({ totalSize: 6, nextPageToken: "" });
  });
});
