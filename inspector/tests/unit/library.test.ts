import { describe, expect, it } from "vitest";

import type { TemplateView } from "../../src/api/types.ts";
import { marked } from "../../src/library/spans.ts";
import { held, heldBefore, labelsOf } from "../../src/library/versions.ts";
import { chosen, type Column } from "../../src/parts/table.ts";

const move = (label: string, before: number | null, after: number | null): unknown => ({ label, before, after, who: "", why: "", when: "" });
const template = (labels: Record<string, number>, moves: unknown[]): TemplateView => ({ summary: { labels }, moves }) as unknown as TemplateView;

describe("a template", () => {
  it("knows which version held a label before the one that does", () => {
    const moved = template({ production: 2, beta: 3 }, [move("production", null, 1), move("beta", null, 3), move("production", 1, 2)]);
    expect(held(moved, "production")).toBe(2);
    expect(heldBefore(moved, "production")).toBe(1);
    expect(heldBefore(moved, "beta")).toBeNull();
    expect(labelsOf(moved)).toEqual(["production", "beta"]);
    expect(labelsOf(template({}, []))).toEqual(["production"]);
  });
});

describe("a text with what counts in it", () => {
  const span = (start: number, end: number, category: string): { start: number; end: number; category: string } => ({ start, end, category });

  it("is the whole of it, in pieces", () => {
    const pieces = marked("one two three", [span(4, 7, "a"), span(4, 13, "b")]);
    expect(pieces.map(({ text }) => text)).toEqual(["one ", "two", " three"]);
    expect(pieces.map(({ categories }) => categories)).toEqual([[], ["a", "b"], ["b"]]);
    expect(marked("plain", [])).toEqual([{ text: "plain", categories: [] }]);
  });

  it("counts code points, and takes no place that is not there", () => {
    expect(marked("🌊🌊ab", [span(2, 3, "a")]).map(({ text }) => text)).toEqual(["🌊🌊", "a", "b"]);
    expect(marked("ab", [span(1, 900, "a")]).map(({ text }) => text).join("")).toBe("ab");
  });
});

describe("a table", () => {
  interface Row { readonly name: string; readonly size: number | null }
  const columns: Column<Row>[] = [{ key: "name", name: "Name", value: (row) => row.name }, { key: "size", name: "Size", value: (row) => row.size }];
  const rows: Row[] = [{ name: "b", size: 2 }, { name: "a", size: null }, { name: "c", size: 10 }];
  const names = (search: string, by: string | null, down: boolean): string[] => chosen(rows, columns, { search, by, down }).map((row) => row.name);

  it("is sorted by numbers as numbers; what has none comes last", () => {
    expect(names("", "size", false)).toEqual(["b", "c", "a"]);
    expect(names("", "size", true)).toEqual(["c", "b", "a"]);
    expect(names("", null, false)).toEqual(["b", "a", "c"]);
  });

  it("has the rows with all words of a search", () => {
    expect(names("C 10", null, false)).toEqual(["c"]);
    expect(names("nothing", null, false)).toEqual([]);
  });
});
