/**
 * ProtoJSON, as Zod schemas (§5.5, ADR-001): the words in which every A2A message is described here.
 *
 * Input is liberal: unknown members are ignored, snake_case names and integer enums are read, `null`
 * means absent, numbers may be decimal strings, base64 may be URL-safe. Output is exact: what a schema
 * returns can be sent as it is.
 */
import * as z from "zod";
import { isStruct, type Struct, snakeCase } from "./struct.ts";

export type { Struct } from "./struct.ts";

/** Optional strings: proto3 does not tell an empty one from an absent one. */
const EMPTY_IS_ABSENT = new WeakSet<object>();

/** Reads the members that a shape names. What can be known of the shape is found out once, not for each input. */
function fieldReader(shape: z.ZodRawShape): (input: unknown) => unknown {
  const members = Object.entries(shape).map(([name, schema]) => ({
    name,
    snake: snakeCase(name),
    emptyIsAbsent: EMPTY_IS_ABSENT.has(schema),
  }));
  return (input) => {
    if (!isStruct(input)) return input;
    const fields: Struct = {};
    for (const { name, snake, emptyIsAbsent } of members) {
      const value = Object.hasOwn(input, name) ? input[name] : input[snake];
      const absent = value === null || value === undefined || (value === "" && emptyIsAbsent);
      if (!absent) fields[name] = value;
    }
    return fields;
  };
}

/** A protobuf message with the given fields, by their camelCase names. */
export function message<S extends z.ZodRawShape>(shape: S) {
  return z.preprocess(fieldReader(shape), z.object(shape));
}

/**
 * A message of which exactly one of `arms` must be set. An empty arm (`""`, or `null` for `nullArm`) is a
 * value when it stands alone, and is ignored beside a populated one: encoders write out default values.
 */
export function oneof<S extends z.ZodRawShape>(
  shape: S,
  arms: readonly (keyof S & string)[],
  nullArm?: keyof S & string,
) {
  const readFields = fieldReader(shape);
  const read = (input: unknown): unknown => {
    const fields = readFields(input);
    if (!isStruct(fields) || !isStruct(input)) return fields;
    const present = arms.filter((arm) => Object.hasOwn(fields, arm));
    if (nullArm && input[nullArm] === null && present.length === 0) fields[nullArm] = null;
    if (present.some((arm) => fields[arm] !== "")) {
      for (const arm of present) if (fields[arm] === "") delete fields[arm];
    }
    return fields;
  };
  const armNames = arms.join(", ");
  return z.preprocess(
    read,
    z.object(shape).check((context) => {
      const set = arms.filter((arm) => Object.hasOwn(context.value, arm));
      if (set.length === 1) return;
      const found = set.length === 0 ? "none is set" : `${set.join(" and ")} are set`;
      context.issues.push({
        code: "custom",
        input: context.value,
        message: `exactly one of ${armNames} is needed; ${found}`,
      });
    }),
  );
}

/** An enum by its names in protobuf order; the integer values are read too. */
export function enumeration<const N extends readonly [string, ...string[]]>(names: N) {
  return z.preprocess(
    (input) => (typeof input === "number" ? (names[input] ?? input) : input),
    z.enum(names),
  );
}

/** A string that must be there and not empty, at most `max` UTF-16 code units long. */
export function requiredString(max = Number.POSITIVE_INFINITY) {
  return z.string().min(1, "must not be empty").max(max);
}

/** A string that may be missing; an empty one is. */
export function optionalString(max = Number.POSITIVE_INFINITY) {
  const schema = z.string().max(max).optional();
  EMPTY_IS_ABSENT.add(schema);
  return schema;
}

/** A list that may be missing. */
export function optionalList<T extends z.ZodType>(item: T) {
  return z.array(item).optional();
}

/** A list with at least one element, as §5.7 asks of required ones. */
export function requiredList<T extends z.ZodType>(item: T) {
  return z.array(item).min(1, "must have at least one element");
}

/** An int32, given as a number or as a decimal string. */
export function int32(min: number, max = 2 ** 31 - 1) {
  return z.preprocess(
    (input) => (typeof input === "string" && /^-?\d+$/.test(input) ? Number(input) : input),
    z.int().min(min).max(max),
  );
}

export const struct = z.custom<Struct>(isStruct, "must be a JSON object");

/** `bytes`: base64 or base64url, with or without padding; given back as padded base64. */
export const bytes = z.string().transform((text, context) => {
  // One anchored pass: stripping `=+$` from a long run of `=` would take quadratic time.
  const [, digits] = /^([A-Za-z0-9+/_-]*)={0,2}$/.exec(text) ?? [];
  if (digits === undefined || digits.length % 4 === 1) {
    context.issues.push({ code: "custom", input: text, message: "must be base64" });
    return z.NEVER;
  }
  const base64 = digits.replace(/-/g, "+").replace(/_/g, "/");
  return base64.padEnd(Math.ceil(base64.length / 4) * 4, "=");
});

const RFC_3339 = /^(\d{4}-\d{2}-\d{2})[Tt](?!24)\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/;
const FIRST_INSTANT = Date.parse("0001-01-01T00:00:00Z");
const LAST_INSTANT = Date.parse("9999-12-31T23:59:59.999Z");

/** Milliseconds since 1970, or undefined. `Date.parse` alone takes February 30 for March 2. */
function instantOf(text: string): number | undefined {
  const [, date = ""] = RFC_3339.exec(text) ?? [];
  if (new Date(date).getUTCDate() !== Number(date.slice(8))) return undefined;
  const time = Date.parse(text);
  return time >= FIRST_INSTANT && time <= LAST_INSTANT ? time : undefined;
}

/** A timestamp in RFC 3339, any offset; given back in UTC with milliseconds (§5.6.1). */
export const timestamp = z.string().transform((text, context) => {
  const time = instantOf(text);
  if (time === undefined) {
    context.issues.push({
      code: "custom",
      input: text,
      message: "must be an ISO 8601 time such as 2026-01-31T12:00:00Z",
    });
    return z.NEVER;
  }
  return new Date(time).toISOString();
});
