import { describe, expect, it } from "vitest";

import { isOpen, itemsOf, listOf, parts, patternFault } from "../../src/files/chips.ts";

describe("lists of keys", () => {
  it.each([
    ["inn, keeper", ["inn"], "keeper"],
    ["inn，ale，", ["inn", "ale"], ""],
    ["/\\bfog{1,3}\\b/i, mist", ["/\\bfog{1,3}\\b/i"], "mist"],
    ["/\\bfog{1,3}\\b/i", [], "/\\bfog{1,3}\\b/i"],
    ["/a, b", [], "/a, b"],
    ["/a\\/,b/, c\nd", ["/a\\/,b/", "c"], "d"],
    [", ,x", [], "x"],
  ])("parts %s", (text, items, rest) => {
    expect(parts(text, true)).toEqual({ items, rest });
  });

  it("takes a pattern that was never closed for texts, once nothing goes on", () => {
    expect(itemsOf("/help, gate", true)).toEqual(["/help", "gate"]);
    expect(itemsOf("/fog{1,3}/, gate", true)).toEqual(["/fog{1,3}/", "gate"]);
  });

  it("splits tags everywhere", () => {
    expect(itemsOf("/a,b/i", false)).toEqual(["/a", "b/i"]);
  });

  it.each([
    ["/\\bfog{1,3}\\b/i", false],
    ["(plain", false],
    ["/(open/", true],
    ["/[a-/i", true],
    ["/a/qq", true],
    ["/never closed", false],
  ])("knows whether %s is broken", (key, broken) => {
    expect(patternFault(key) !== null).toBe(broken);
    if (broken) expect(patternFault(key)).not.toMatch(/Invalid regular expression/);
  });

  it("knows an open pattern", () => {
    expect([isOpen("/a"), isOpen("/a/i"), isOpen("a/b")]).toEqual([true, false, false]);
  });

  it("leaves what a file has as it is", () => {
    expect(listOf(["a, b", 5, ""], true)).toEqual(["a, b", 5, ""]);
    expect(listOf("inn, /x,y/i", true)).toEqual(["inn", "/x,y/i"]);
    expect(listOf(undefined, true)).toEqual([]);
  });
});
