import { describe, expect, it } from "vitest";

import { ranked } from "../../src/shell/ranked.ts";

const named = (...names: string[]): { name: string }[] => names.map((name) => ({ name }));

describe("a search by name", () => {
  it("has what is called so first, however many others have the word", () => {
    const all = [...named(...Array.from({ length: 500 }, (_, index) => `the ${index} bell`)), ...named("Bell", "bellows")];
    expect(ranked(all, "bell", 60).slice(0, 2)).toEqual(named("Bell", "bellows"));
    expect(ranked(all, "bell", 60)).toHaveLength(60);
  });

  it("wants all words, in any order, and without any has all", () => {
    expect(ranked(named("Bell Reef", "Reef"), "reef bell", 9)).toEqual(named("Bell Reef"));
    expect(ranked(named("a", "b"), " ", 9)).toEqual(named("a", "b"));
  });
});
