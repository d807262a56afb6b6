/** JSON objects, as ProtoJSON reads them (§5.5). */

/** A JSON object with any members (`google.protobuf.Struct`). */
export type Struct = { [key: string]: unknown };

export function isStruct(value: unknown): value is Struct {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member by its camelCase name, or else by the snake_case name that ProtoJSON reads as well. */
export function memberOf(message: Struct, name: string): unknown {
  return Object.hasOwn(message, name) ? message[name] : message[snakeCase(name)];
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
