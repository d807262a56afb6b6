/** The floor of webhooks: a queue and a consumer that posts, in order, with nothing kept and nothing signed. */
interface Env {
  PUSH_QUEUE: Queue<Job>;
}

interface Job {
  url: string;
  count: number;
  /** When the job was made (ms). */
  at: number;
}

/** About as long as a status update. */
const FILLER: string = "x".repeat(300);

async function post({ url, count, at }: Job): Promise<void> {
  for (let sent = 0; sent < count; sent++) {
    const body = JSON.stringify({ at, filler: FILLER });
    const response = await fetch(url, { method: "POST", body });
    await response.arrayBuffer();
  }
}

export default {
  async fetch(request, { PUSH_QUEUE }) {
    const jobs = await request.json<Omit<Job, "at">[]>();
    await PUSH_QUEUE.sendBatch(jobs.map((job) => ({ body: { ...job, at: Date.now() } })));
    return new Response("done");
  },
  async queue({ messages }) {
    await Promise.all(messages.map(({ body }) => post(body)));
  },
} satisfies ExportedHandler<Env, Job>;
