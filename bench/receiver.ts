/** Receives webhooks, in the process that measures. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** What is sent must have come within this time, in ms. */
const TIMEOUT_MS = 60_000;

export class Receiver {
  readonly #server: Server;
  #arrivals: { at: number; body: string }[] = [];
  #waiting: { count: number; resolve: () => void } | undefined;

  constructor() {
    this.#server = createServer(async (request, response) => {
      const body = await text(request);
      response.end();
      this.#arrivals.push({ at: Date.now(), body });
      if (this.#waiting && this.#arrivals.length >= this.#waiting.count) this.#waiting.resolve();
    });
    this.#server.keepAliveTimeout = TIMEOUT_MS;
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  url(path: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  /** What has come, once it is so many; then it is forgotten. */
  async take(count: number): Promise<{ at: number; body: string }[]> {
    if (this.#arrivals.length < count) {
      await new Promise<void>((resolve, reject) => {
        const late = () => reject(new Error(`${this.#arrivals.length} of ${count} deliveries came`));
        const timer = setTimeout(late, TIMEOUT_MS);
        this.#waiting = {
          count,
          resolve: () => {
            clearTimeout(timer);
            resolve();
          },
        };
      });
    }
    this.#waiting = undefined;
    return this.#arrivals.splice(0);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
