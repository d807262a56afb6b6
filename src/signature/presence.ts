/** Which members of a message are there when it is signed (§5.7, §8.4.1): the words that a table of them is written in. */
import { isStruct, memberOf } from "../protocol/struct.ts";

/** `signed`: without plain members that have the default. `shown`: with the members that the types promise. */
type Form = "signed" | "shown";

export interface Kind {
  /** The default of protobuf. */
  readonly zero: unknown;
  /** The value in that form. Throws, naming the place, when it is of another kind. */
  read(value: unknown, at: string, form: Form): unknown;
}

/**
 * `required`: always there. `optional`: there when given, even with the default; so are messages. `plain`: a default
 * is the same as nothing. `implied`: plain, but always there in what is shown.
 */
export type Member = readonly [presence: "required" | "optional" | "plain" | "implied", kind: Kind];

function scalar(zero: string | boolean): Kind {
  return {
    zero,
    read(value, at) {
      if (typeof value !== typeof zero) throw new TypeError(`${at} must be a ${typeof zero}`);
      return value;
    },
  };
}

export const text = scalar("");
export const flag = scalar(false);

export const struct: Kind = {
  zero: {},
  read(value, at) {
    if (!isStruct(value)) throw new TypeError(`${at} must be an object`);
    return value;
  },
};

export function list(item: Kind): Kind {
  return {
    zero: [],
    read(value, at, form) {
      if (!Array.isArray(value)) throw new TypeError(`${at} must be a list`);
      return value.map((element, index) => item.read(element, `${at}[${index}]`, form));
    },
  };
}

export function map(item: Kind): Kind {
  return {
    zero: {},
    read(value, at, form) {
      if (!isStruct(value)) throw new TypeError(`${at} must be an object`);
      // Entries, not assignments: a key may be `__proto__`.
      return Object.fromEntries(
        Object.entries(value).map(([key, element]) => [key, item.read(element, `${at}.${key}`, form)]),
      );
    },
  };
}

export function message<T>(members: Readonly<Record<keyof Required<T>, Member>>): Kind {
  const rows = Object.entries<Member>(members);
  return {
    zero: {},
    read(value, at, form) {
      if (!isStruct(value)) throw new TypeError(`${at} must be an object`);
      const entries = rows.flatMap(([name, [presence, kind]]) => {
        const given = memberOf(value, name) ?? undefined;
        const always = presence === "required" || presence === "implied";
        if (given === undefined && !always) return [];
        const read = kind.read(given ?? kind.zero, `${at}.${name}`, form);
        const droppable = presence === "plain" || presence === "implied";
        return form === "signed" && droppable && isDefault(read) ? [] : [[name, read]];
      });
      return Object.fromEntries(entries);
    },
  };
}

function isDefault(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isStruct(value)) return Object.keys(value).length === 0;
  return value === "" || value === false;
}
