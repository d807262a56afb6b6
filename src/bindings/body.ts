/** The body of a request, with its bounds enforced while it is read. */
import type { Limits } from "../agent/limits.ts";
import { A2AError } from "../protocol/errors.ts";

/** For whole bodies: it keeps nothing between two of them. */
const utf8 = newDecoder();

/** The text of a request; reading stops at the first byte over the limit (PAYLOAD_TOO_LARGE). */
export async function readText(request: Request, { bodyBytes: maxBytes }: Limits): Promise<string> {
  const declared = Number(request.headers.get("Content-Length") ?? Number.NaN);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  if (!request.body) return "";
  // A body of a declared length has no more bytes than that: it is read at once, which is faster.
  if (declared >= 0) {
    const bytes = await request.arrayBuffer();
    if (bytes.byteLength > maxBytes) throw tooLarge(maxBytes);
    return decode(bytes);
  }
  const decoder = newDecoder();
  let size = 0;
  let text = "";
  try {
    for await (const bytes of request.body as ReadableStream<Uint8Array>) {
      size += bytes.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes);
      text += decoder.decode(bytes, { stream: true });
    }
    return text + decoder.decode();
  } catch (error) {
    if (error instanceof TypeError)
      throw new A2AError("PARSE_ERROR", { message: "Invalid JSON payload: not UTF-8" });
    throw error;
  }
}

/** JSON; text that is none is PARSE_ERROR, nesting that is too deep is INVALID_REQUEST. */
export function parseJson(text: string, { jsonDepth }: Limits): unknown {
  if (depthOf(text) > jsonDepth) {
    throw new A2AError("INVALID_REQUEST", {
      message: `Request payload validation error: JSON is nested deeper than ${jsonDepth} levels`,
    });
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new A2AError("PARSE_ERROR");
  }
}

function newDecoder(): TextDecoder {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
}

function decode(bytes: ArrayBuffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new A2AError("PARSE_ERROR", { message: "Invalid JSON payload: not UTF-8" });
  }
}

function tooLarge(maxBytes: number): A2AError {
  return new A2AError("PAYLOAD_TOO_LARGE", {
    message: `Request body too large: more than ${maxBytes} bytes. Send large content as a url part`,
  });
}

/** How deep arrays and objects are nested, without building them. */
function depthOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let at = 0; at < json.length; at++) {
    const char = json.charCodeAt(at);
    if (inString) {
      if (char === 0x5c /* \\ */) at++;
      else if (char === 0x22 /* " */) inString = false;
    } else if (char === 0x22) inString = true;
    else if (char === 0x7b /* { */ || char === 0x5b /* [ */) deepest = Math.max(deepest, ++depth);
    else if (char === 0x7d /* } */ || char === 0x5d /* ] */) depth--;
  }
  return deepest;
}
