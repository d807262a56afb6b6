/**
 * ProtoJSON, as Zod schemas (§5.5, ADR-001): the words in which every A2A message is described here.
 *
 * Input is liberal: unknown members are ignored, snake_case names and integer enums are read, `null`
 * means absent, numbers may be decimal strings, base64 may be URL-safe. Output is exact: what a schema
 * returns can be sent as it is.
 */
import * as z from "zod";

/** A JSON object with any members (`google.protobuf.Struct`). */
export type Struct = { [key: string]: unknown };

function isStruct(value: unknown): value is Struct {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function readFields(names: readonly string[], input: unknown): unknown {
  if (!isStruct(input)) return input;
  const fields: Struct = {};
  for (const name of names) {
    const value = Object.hasOwn(input, name) ? input[name] : input[snakeCase(name)];
    if (value !== null && value !== undefined) fields[name] = value;
  }
  return fields;
}

/** A protobuf message with the given fields, by their camelCase names. */
export function message<S extends z.ZodRawShape>(shape: S) {
  const names = Object.keys(shape);
  return z.preprocess((input) => readFields(names, input), z.object(shape));
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
  const names = Object.keys(shape);
  const read = (input: unknown): unknown => {
    const fields = readFields(names, input);
    if (!isStruct(fields) || !isStruct(input)) return fields;
    if (nullArm && input[nullArm] === null) fields[nullArm] = null;
    const empty = (arm: string) => fields[arm] === "" || fields[arm] === null;
    const present = arms.filter((arm) => Object.hasOwn(fields, arm));
    if (present.some((arm) => !empty(arm))) {
      for (const arm of present) if (empty(arm)) delete fields[arm];
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

/** A string that may be missing; proto3 does not tell an empty one from an absent one. */
export function optionalString(max = Number.POSITIVE_INFINITY) {
  const absentWhenEmpty = (input: unknown) => (input === "" ? undefined : input);
  return z.preprocess(absentWhenEmpty, z.string().max(max).optional()).optional();
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
  const base64 = text.replace(/-/g, "+").replace(/_/g, "/").replace(/=+$/, "");
  if (!/^[A-Za-z0-9+/]*$/.test(base64) || base64.length % 4 === 1) {
    context.issues.push({ code: "custom", input: text, message: "must be base64" });
    return z.NEVER;
  }
  return base64.padEnd(Math.ceil(base64.length / 4) * 4, "=");
});

const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/;

/** A timestamp in RFC 3339, any offset; given back in UTC with milliseconds (§5.6.1). */
export const timestamp = z.string().transform((text, context) => {
  const time = RFC_3339.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) {
    context.issues.push({
      code: "custom",
      input: text,
      message: "must be an ISO 8601 time such as 2026-01-31T12:00:00Z",
    });
    return z.NEVER;
  }
  return new Date(time).toISOString();
});
