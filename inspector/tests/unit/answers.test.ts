import { describe, expect, it } from "vitest";

import type { TalkModel } from "../../src/api/types.ts";
import { isJson, MOST_ANSWERS, optionFields, read, requestOf, type Tried, withAnswer, written } from "../../src/try/answers.ts";

const MODEL: TalkModel = { name: "local", provider: "local", model: "small", dialect: "openai-compatible", window: 4096, options: ["temperature", "seed", "stop", "response_format"], tools: true, schema: true };
const answer = (id: number): Tried => ({ id, route: "local", options: {}, message: "Yes.", thoughts: "", refusal: "", calls: [], finish: "stop", input_tokens: 9, output_tokens: 2, fingerprint: "ab", plan: {} as never, firstMs: 1, tookMs: 2, stopped: false, problem: null, isJson: null });
const NOTHING = { tools: undefined, schema: undefined };

describe("what is asked of a model", () => {
  it("has the fields that it takes, as presets have them", () => {
    expect(optionFields(MODEL).map(({ name, kind }) => [name, kind])).toEqual([["temperature", "number"], ["seed", "integer"]]);
    expect(optionFields(undefined)).toEqual([]);
  });

  it("is the prompt in its variation, with the options that the model takes", () => {
    expect(requestOf(MODEL, { saved: false, used: ["f1"] }, { temperature: 0, top_k: 5 }, NOTHING)).toEqual({ route: "local", variation: { settings: { used: ["f1"] }, saved: false }, options: { temperature: 0 } });
  });

  it("brings tools and the schema of the answer along, one tool as well as several", () => {
    const tool = { type: "function", function: { name: "tide" } };
    const schema = { type: "object" };
    const { tools, options } = requestOf(MODEL, { saved: true }, {}, { tools: tool, schema });
    expect(tools).toEqual([tool]);
    expect(options).toEqual({ response_format: { type: "json_schema", json_schema: { name: "answer", schema } } });
    expect(requestOf(MODEL, { saved: true }, {}, { tools: [], schema: "no" })).toEqual({ route: "local", variation: { saved: true }, options: {} });
  });
});

describe("answers", () => {
  it("are kept, the newest first, and no more than a side can show", () => {
    const all = Array.from({ length: MOST_ANSWERS + 2 }, (_, index) => answer(index)).reduce(withAnswer, [] as readonly Tried[]);
    expect(all.map(({ id }) => id).slice(0, 2)).toEqual([MOST_ANSWERS + 1, MOST_ANSWERS]);
    expect(all.length).toBe(MOST_ANSWERS);
  });

  it("are kept by the browser with their fingerprints, without their plans", () => {
    const trial = { shape: NOTHING, sides: [{ route: "local", choice: { saved: false }, options: { seed: 1 }, answers: [answer(1)] }] };
    const side = read(written(trial))!.sides[0]!;
    expect([side.options, side.answers[0]!.fingerprint, side.answers[0]!.plan]).toEqual([{ seed: 1 }, "ab", null]);
    for (const broken of [null, "", "[]", '{"sides":[],"shape":1}', '{"shape":{},"sides":[{}]}']) expect(read(broken)).toBeNull();
  });

  it("are JSON or not", () => {
    expect(["{}", '"a"', "{", ""].map(isJson)).toEqual([true, true, false, false]);
  });
});
