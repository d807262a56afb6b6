/** What the options of the schemes have in common. Mistakes in them are errors when the Worker starts. */
import * as z from "zod";
import { A2AError, parse } from "../../protocol/errors.ts";

/** `given` read by `schema`; throws with the name of the scheme's function and of each option that is wrong. */
export function checkOptions<T extends z.ZodType>(
  maker: string,
  schema: T,
  given: unknown,
): z.infer<T> {
  try {
    return parse(schema, given);
  } catch (error) {
    if (!A2AError.is(error)) throw error;
    const problems = error.fields.map(({ field, description }) => `${field}: ${description}`);
    throw new Error(`${maker}: ${problems.join("; ")}`);
  }
}

/** Key of a scheme in the card. It is part of who owns a task, where a space and a `+` join names. */
export const schemeName = z
  .string()
  .regex(
    /^[A-Za-z0-9._-]{1,64}$/,
    "must be letters, digits, dots, hyphens and underscores, at most 64",
  );

/** A URL that keys or credentials may travel over: https, or plain http to this machine, for development. */
export const secureUrl = z
  .string()
  .refine(isSecureUrl, "must be an https URL (http only to a loopback host)");

export function isSecureUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url?.protocol === "https:") return true;
  return url?.protocol === "http:" && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
}
