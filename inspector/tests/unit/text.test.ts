import { describe, expect, it } from "vitest";

import { keySpan, plain, runs, unitOffsets } from "../../src/format/text.ts";

describe("text that is not trusted", () => {
  it.each([["\u202e", "U+202E"], ["\u0007", "U+0007"], ["\u200b", "U+200B"], ["\ufeff", "U+FEFF"], ["\u2067", "U+2067"]])("shows %j as a number", (hidden, shown) => {
    expect(runs(`a${hidden}b`)).toEqual([
      { text: "a", hidden: false },
      { text: shown, hidden: true },
      { text: "b", hidden: false },
    ]);
    expect(plain(`a${hidden}b`)).toBe(`a⟨${shown}⟩b`);
  });

  it("leaves lines, tabs and scripts of all kinds alone", () => {
    const text = "a\tb\nשלום مرحبا 你好 👩‍🚀";
    expect(runs(text).map((run) => run.text).join("")).toBe(text);
  });

  it("counts in code points", () => {
    expect(unitOffsets("a😀b", [0, 1, 2, 3])).toEqual([0, 1, 3, 4]);
    expect(unitOffsets("abc", [1, 9])).toEqual([1, 3]);
  });

  it("finds a key where it was told, else where it is", () => {
    expect(keySpan("the Ferry is late", "ferry", 4, 9)).toEqual([4, 9]);
    expect(keySpan("so: the ferry", "ferry", 0, 5)).toEqual([8, 13]);
    expect(keySpan("storms", "/st.rm/", 0, 5)).toEqual([0, 5]);
    expect(keySpan("x", "y", 4, 9)).toBeNull();
  });
});
