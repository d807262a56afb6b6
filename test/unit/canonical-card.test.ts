/** What the signatures of a card are over (§8.4.1), held to the specification, to RFC 8785 and to the official SDK. */
import { canonicalizeAgentCard, AgentCard as SdkCard } from "@a2a-js/sdk";
import { describe, expect, test } from "vitest";
import { canonicalTexts } from "../../src/signature/canonical.ts";
import { CARD } from "./card-keys.ts";
import { agentCard as full } from "./sdk-messages.ts";

const FULL = SdkCard.toJSON(full) as Record<string, unknown>;

/** The text of §8.4.1, as a value. */
function signed(card: object): Record<string, unknown> {
  return JSON.parse(canonicalTexts(card)[0] ?? "");
}

describe("the members that are signed", () => {
  test("are those of the example in the specification (C-13)", () => {
    const capabilities = { streaming: false, pushNotifications: false, extensions: [] };
    const [text] = canonicalTexts({
      ...CARD,
      name: "Example Agent",
      description: "",
      capabilities,
      skills: [],
    });
    expect(text).toMatch(/^\{"capabilities":\{"pushNotifications":false,"streaming":false\},"default/);
    expect(text).toContain('"description":"","name":"Example Agent"');
    expect(text).toContain('"skills":[]');
  });

  test("are REQUIRED ones and optional ones that were set, also with a default (C-13)", () => {
    const set = { description: "", defaultInputModes: [], documentationUrl: "", iconUrl: "" };
    expect(signed({ ...CARD, ...set })).toMatchObject(set);
  });

  test("are not optional ones that were not set, and not null (C-13)", () => {
    const { capabilities, documentationUrl } = signed({
      ...CARD,
      capabilities: {},
      documentationUrl: null,
    });
    expect(capabilities).toEqual({});
    expect(documentationUrl).toBeUndefined();
  });

  test("are REQUIRED ones that a writer of defaults left out (C-13)", () => {
    const { description: _, ...without } = CARD;
    expect(canonicalTexts(without)).toEqual(canonicalTexts({ ...CARD, description: "" }));
  });

  test("are not plain ones with a default (C-13)", () => {
    const extension = { uri: "https://example.com/e", description: "", required: false };
    const [inner] = CARD.supportedInterfaces;
    const [skill] = CARD.skills;
    const card = {
      ...CARD,
      capabilities: { extensions: [extension] },
      supportedInterfaces: [{ ...inner, tenant: "" }],
      skills: [{ ...skill, examples: [], inputModes: [], outputModes: [], securityRequirements: [] }],
      securitySchemes: {},
    };
    const { skills, capabilities, supportedInterfaces, ...rest } = signed(card);
    expect(capabilities).toEqual({ extensions: [{ uri: "https://example.com/e" }] });
    expect(supportedInterfaces).toEqual([inner]);
    expect(skills).toEqual([{ id: "s", name: "S", description: "The skill", tags: ["t"] }]);
    expect(rest).not.toHaveProperty("securitySchemes");
    expect(rest.securityRequirements).toEqual([{ schemes: { key: {} } }]);
  });

  test("are not the signatures, nor what the protocol does not know", () => {
    const more = { signatures: [{ protected: "a", signature: "b" }], "x-unknown": 1 };
    expect(canonicalTexts({ ...CARD, ...more })).toEqual(canonicalTexts(CARD));
  });

  test("are the same when their names are in snake_case, as ProtoJSON reads them", () => {
    const { defaultInputModes, ...rest } = CARD;
    expect(canonicalTexts({ ...rest, default_input_modes: defaultInputModes })).toEqual(
      canonicalTexts(CARD),
    );
  });

  test("keep a scheme whose name is special to JavaScript", () => {
    const schemes = JSON.parse('{"__proto__":{"mtlsSecurityScheme":{}}}');
    const [text] = canonicalTexts({ ...CARD, securitySchemes: schemes });
    expect(text).toContain('"securitySchemes":{"__proto__":{"mtlsSecurityScheme":{}}}');
  });

  test.each<[place: string, change: object]>([
    ["card.name", { name: 1 }],
    ["card.skills", { skills: {} }],
    ["card.skills[0]", { skills: [null] }],
    ["card.skills[0].tags[1]", { skills: [{ tags: ["a", 2] }] }],
    ["card.capabilities.streaming", { capabilities: { streaming: "true" } }],
    ["card.securitySchemes.a", { securitySchemes: { a: "b" } }],
  ])("are none when %s is of another kind", (place, change) => {
    expect(() => canonicalTexts({ ...CARD, ...change })).toThrow(`${place} must be`);
  });
});

describe("the canonical text", () => {
  /** The extension's parameters may hold any JSON. */
  const params = (value: unknown) => {
    const capabilities = { extensions: [{ uri: "u", params: { value } }] };
    return /"params":\{"value":(.*)\},"uri"/s.exec(
      canonicalTexts({ ...CARD, capabilities })[0] ?? "",
    )?.[1];
  };

  test.each<[json: string, canonical: string]>([
    ["333333333.33333329", "333333333.3333333"],
    ["1E30", "1e+30"],
    ["4.50", "4.5"],
    ["2e-3", "0.002"],
    ["0.000000000000000000000000001", "1e-27"],
    ["-0", "0"],
    ["1.0", "1"],
    ["1e21", "1e+21"],
    ["999999999999999999999", "1e+21"],
    ["9007199254740993", "9007199254740992"],
    ["5e-324", "5e-324"],
  ])("writes the number %s as %s (RFC 8785 §3.2.2.3)", (json, canonical) => {
    expect(params(JSON.parse(json))).toBe(canonical);
  });

  test("writes strings as RFC 8785 §3.2.2.2 has it, and does not normalize them", () => {
    const json = '"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/"';
    expect(params(JSON.parse(json))).toBe('"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"');
    expect(params("é")).not.toBe(params("e\u0301"));
    expect(params("\u2028\u007f")).toBe('"\u2028\u007f"');
  });

  test("sorts names by UTF-16 code units (RFC 8785 §3.2.3)", () => {
    const names = ["\u20ac", "\r", "\ufb33", "1", "\ud83d\ude00", "\u0080", "\u00f6"];
    const text = params(Object.fromEntries(names.map((name) => [name, 0]))) ?? "";
    const sorted = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\ud83d\ude00", "\ufb33"];
    expect(Object.keys(JSON.parse(text.replace('"1"', '"~1"')))).toEqual(
      sorted.map((name) => (name === "1" ? "~1" : name)),
    );
  });

  test("is not made of half a character", () => {
    expect(() => canonicalTexts({ ...CARD, name: "\ud83d" })).toThrow(/surrogate/);
  });
});

describe("the second text", () => {
  test("is not there when nothing is empty", () => {
    const { securityRequirements: _, ...card } = CARD;
    expect(canonicalTexts(card)).toEqual([canonicalizeAgentCard(card as unknown as SdkCard)]);
  });

  test("is there for the requirement of a scheme without scopes", () => {
    expect(canonicalTexts(CARD)).toHaveLength(2);
  });

  /** Every member of a card that has them all, at any depth: left out, and set to every kind of nothing. */
  function* changes(value: unknown, put: (value: unknown) => unknown): Generator<unknown> {
    for (const nothing of [undefined, null]) yield put(nothing);
    if (typeof value === "string") yield put("");
    if (typeof value === "boolean") yield put(false);
    if (typeof value !== "object" || value === null) return;
    yield put(Array.isArray(value) ? [] : {});
    for (const key of Object.keys(value)) {
      const members = value as Record<string, unknown>;
      yield* changes(members[key], (member) =>
        put(
          Array.isArray(value)
            ? value.map((element, index) => (String(index) === key ? member : element))
            : { ...value, [key]: member },
        ),
      );
    }
  }

  test("is what the official SDK signs, whatever is left out or empty", () => {
    const { signatures: _, ...card } = FULL;
    let compared = 0;
    for (const changed of changes(card, (value) => value)) {
      let texts: string[];
      try {
        texts = canonicalTexts(changed);
      } catch {
        continue; // `null` where a list has messages: no card, for us.
      }
      expect(texts.at(-1)).toBe(canonicalizeAgentCard(changed as SdkCard));
      compared += 1;
    }
    expect(compared).toBeGreaterThan(200);
  });
});
