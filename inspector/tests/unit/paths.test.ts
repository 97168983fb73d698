import { describe, expect, it } from "vitest";

import { differences, pathText, startsWith, valueAt, withEdit, withInserted, withoutValue, withValue } from "../../src/format/paths.ts";

describe("places in documents", () => {
  const document = { data: { name: "A", list: [1, 2, 3] }, other: { kept: true } };

  it("reads a value, and nothing where there is none", () => {
    expect(valueAt(document, ["data", "list", 1])).toBe(2);
    expect(valueAt(document, ["data", "missing", "deep"])).toBeUndefined();
    expect(valueAt(document, ["constructor"])).toBeUndefined();
  });

  it("takes in edits as the service sends them", () => {
    expect(withEdit({ a: [1] }, { path: ["a", 0], insert: true, value: 0 })).toEqual({ a: [0, 1] });
    expect(withEdit({ a: [1] }, { path: ["a", 0], remove: true })).toEqual({ a: [] });
    expect(withEdit({ a: [1] }, { path: ["b"], value: 2 })).toEqual({ a: [1], b: 2 });
  });

  it("changes a copy that shares what did not change", () => {
    const changed = withValue(document, ["data", "name"], "B") as typeof document;
    expect(changed.data.name).toBe("B");
    expect(document.data.name).toBe("A");
    expect(changed.other).toBe(document.other);
  });

  it("makes what is missing on the way", () => {
    expect(withValue({}, ["a", "b"], 1)).toEqual({ a: { b: 1 } });
  });

  it("puts in and takes out of lists", () => {
    expect(valueAt(withInserted(document, ["data", "list", 1], 9), ["data", "list"])).toEqual([1, 9, 2, 3]);
    expect(valueAt(withoutValue(document, ["data", "list", 0]), ["data", "list"])).toEqual([2, 3]);
    expect(withoutValue(document, ["data", "name"])).toEqual({ data: { list: [1, 2, 3] }, other: { kept: true } });
  });

  it("takes a key named __proto__ as a key", () => {
    const changed = withValue(JSON.parse('{"__proto__": 1}'), ["__proto__"], 2);
    expect(JSON.stringify(changed)).toBe('{"__proto__":2}');
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("finds the smallest changes, which make one of the other", () => {
    const after = { data: { name: "B", list: [1, 5, 3] }, fresh: null };
    const changes = differences(document, after);
    expect(changes).toContainEqual({ path: ["data", "list", 1], value: 5 });
    expect(changes).toContainEqual({ path: ["other"], remove: true });
    const made = changes.reduce<unknown>((done, one) => (one.remove ? withoutValue(done, one.path) : withValue(done, one.path, one.value)), document);
    expect(made).toEqual(after);
  });

  it("says a place in words", () => {
    expect(pathText(["data", "entries", 3, "content"])).toBe("data.entries[3].content");
    expect(startsWith(["entries", 3, "content"], ["entries", "3"])).toBe(true);
  });
});
