import { resumeTask } from "durable-a2a";

/**
 * The page behind the link. A GET changes nothing (mail programs open links); its button signs. The key in the link
 * shows that it was handed on by the client; who opened it is for your login to say: put it before this route
 * (Cloudflare Access, for one), and take the name from there.
 */
export async function signOffPage(request: Request, env: unknown): Promise<Response> {
  const { searchParams } = new URL(request.url);
  const task = searchParams.get("task") ?? "";
  const key = searchParams.get("key") ?? "";
  if (request.method === "GET") {
    return page('<form method="post"><button>Sign the deployment</button></form>');
  }
  if (request.method !== "POST") return page("Open this page in a browser", 405);
  try {
    // Refused unless the task waits for an authorization of just this name.
    await resumeTask(env, task, key, { by: "the owner of production" });
    return page("Signed. You may close this page.");
  } catch {
    return page("This link is not valid, or was used already.", 403);
  }
}

function page(body: string, status = 200): Response {
  return new Response(`<!doctype html><title>Sign-off</title><p>${body}`, {
    status,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
      "Referrer-Policy": "no-referrer",
    },
  });
}
