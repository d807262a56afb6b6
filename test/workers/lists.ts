/** ListTasks as tests ask for it: pages, and tasks to list. */
import type { Task } from "durable-a2a";
import { type Answer, type Binding, operate, pause, send } from "./bindings.ts";
import { script } from "./client.ts";

export const ALICE = { agent: "keyed", headers: { "X-API-Key": "alice-key" } };
export const BOB = { agent: "keyed", headers: { "X-API-Key": "bob-key" } };
export const MIRROR = { agent: "mirror", headers: { "X-API-Key": "alice-key" } };

export interface Page {
  tasks: Task[];
  nextPageToken: string;
  pageSize: number;
  totalSize: number;
}

export function ask(binding: Binding, params: object, as = ALICE): Promise<Answer> {
  return operate(binding, "ListTasks", params, as);
}

export async function list(binding: Binding, params: object, as = ALICE): Promise<Page> {
  const { value, error } = await ask(binding, params, as);
  if (!value) throw new Error(`no page: ${JSON.stringify(error)}`);
  return value as unknown as Page;
}

/** Every page of a list. */
export async function pages(binding: Binding, params: object): Promise<Page[]> {
  const all = [await list(binding, params)];
  for (let token = all[0]?.nextPageToken; token; token = all.at(-1)?.nextPageToken) {
    all.push(await list(binding, { ...params, pageToken: token }));
  }
  return all;
}

export function ids({ tasks }: Page): string[] {
  return tasks.map(({ id }) => id);
}

/** Tasks in a context of their own, one after the other. */
export async function make(
  count: number,
  parts = script({ do: "complete" }),
  as = ALICE,
): Promise<Task[]> {
  const contextId = crypto.randomUUID();
  const tasks: Task[] = [];
  for (let made = 0; made < count; made++) {
    await pause(2);
    tasks.push(await send("rest", parts, { contextId }, as));
  }
  return tasks;
}
