import { describe, expect, it } from "vitest";

import { excerpt, textsOf } from "../../src/shell/texts.ts";

describe("a search in texts", () => {
  it("sees every text of a document, in lists and objects", () => {
    const document = { name: "Fog", entries: [{ keys: ["mist"], order: 3 }] };
    expect([...textsOf(document)]).toEqual([
      { path: ["name"], text: "Fog" },
      { path: ["entries", 0, "keys", 0], text: "mist" },
    ]);
  });

  it("shows what stands around a match, in one line", () => {
    expect(excerpt("The Bell\nReef", "bell")).toBe("The Bell Reef");
    expect(excerpt(`${"a".repeat(60)} bell ${"b".repeat(60)}`, "bell")).toBe(`…${"a".repeat(39)} bell ${"b".repeat(39)}…`);
    expect(excerpt("The reef", "bell")).toBeNull();
  });
});
