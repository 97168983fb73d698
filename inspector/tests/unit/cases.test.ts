import { describe, expect, it } from "vitest";

import { type Case, missed, pieces, read, readValues, writtenValues } from "../../src/library/cases.ts";

const CASE: Case = { name: "calm", values: { guest: "Ansel" }, has: "greet", lacks: "shout", of: "text", message: "" };

describe("cases of a template", () => {
  it("want a text to have something, and to lack something else, in whatever case", () => {
    expect(["Greet him", "Wave", "GREET and SHOUT"].map((text) => missed(CASE, text))).toEqual([null, "has", "lacks"]);
    expect(missed({ ...CASE, has: "", lacks: "" }, "")).toBeNull();
  });

  it("are read as they were written, and nothing else is", () => {
    expect(read(JSON.stringify([CASE]))).toEqual([CASE]);
    expect(read('[1, {"of": "all", "values": []}]')).toEqual([{ name: "", values: {}, has: "", lacks: "", of: "text", message: "" }]);
    for (const broken of [null, "", "{", "{}"]) expect(read(broken)).toEqual([]);
  });

  it("have values that an address carries", () => {
    expect(readValues(writtenValues({ guest: "Ö #&" }))).toEqual({ guest: "Ö #&" });
    expect([writtenValues({}), readValues("["), readValues("[1]")]).toEqual([null, {}, {}]);
  });
});

describe("a rendered text", () => {
  it("is in pieces by code points, each of a variable or of the template", () => {
    const ranges = [[3, null], [5, "guest"]] as const;
    expect(pieces("Hi 🌊x!", ranges)).toEqual([{ text: "Hi ", variable: null }, { text: "🌊x", variable: "guest" }, { text: "!", variable: null }]);
  });
});
