import { describe, expect, it } from "vitest";

import { segments, textOf } from "../../src/prompt/segments.ts";

const pieces = [{ text: "Is the ", origin: 0 }, { text: "ferry", origin: 1 }, { text: " late?", origin: null }];

describe("the text of a message", () => {
  it("is its pieces", () => {
    expect(segments(pieces, null, Infinity).map(({ text, origin }) => ({ text, origin }))).toEqual(pieces);
    expect(textOf(pieces)).toBe("Is the ferry late?");
  });

  it("is cut where something is marked, within and across pieces", () => {
    const marked = segments(pieces, [3, 9], Infinity);
    expect(marked.filter((one) => one.marked).map((one) => one.text)).toEqual(["the ", "fe"]);
    expect(marked.map((one) => one.text).join("")).toBe("Is the ferry late?");
  });

  it("ends at a limit", () => {
    expect(segments(pieces, null, 9).map((one) => one.text)).toEqual(["Is the ", "fe"]);
  });

  it("shows hidden characters", () => {
    expect(segments([{ text: "a\u202eb", origin: null }], null, Infinity)[1]).toMatchObject({ text: "U+202E", hidden: true });
  });
});
