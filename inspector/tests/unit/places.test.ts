import { describe, expect, it } from "vitest";

import { fieldChanges, placeWords } from "../../src/format/places.ts";

const CARD = { data: { name: "Mira", tags: ["inn"], character_book: { entries: [{ comment: "Skerrow", keys: ["reef"], content: "Rocks." }, { keys: [], content: "Fog." }] } } };

describe("a place in words", () => {
  it("names entries by their titles and fields by their names", () => {
    expect(placeWords(CARD, ["data", "character_book", "entries", 0, "content"])).toBe("Skerrow › Content");
    expect(placeWords(CARD, ["data", "character_book", "entries", 1, "keys"])).toBe("#2 › Keys");
    expect(placeWords(CARD, ["data", "first_mes"])).toBe("First message");
    expect(placeWords({ entries: { "7": { key: [] } } }, ["entries", "7", "key"])).toBe("#8 › Keys");
  });
});

describe("what differs", () => {
  it("is told field by field", () => {
    const after = structuredClone(CARD);
    after.data.name = "Bram";
    after.data.character_book.entries[0]!.content = "Rocks and kelp.";
    after.data.tags.push("sea");
    expect(fieldChanges(CARD, after)).toEqual([
      { path: ["data", "name"], before: "Mira", after: "Bram" },
      { path: ["data", "tags"], before: ["inn"], after: ["inn", "sea"] },
      { path: ["data", "character_book", "entries", 0, "content"], before: "Rocks.", after: "Rocks and kelp." },
    ]);
  });

  it("is the items that came and went, where a list has another length", () => {
    const after = structuredClone(CARD);
    const [gone] = after.data.character_book.entries.splice(0, 1);
    expect(fieldChanges(CARD, after)).toEqual([{ path: ["data", "character_book", "entries", 0], before: gone, after: undefined }]);
    expect(fieldChanges({ a: 1 }, { a: 1, b: null })).toEqual([{ path: ["b"], before: undefined, after: null }]);
  });
});
