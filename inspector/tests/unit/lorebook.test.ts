import { describe, expect, it } from "vitest";

import { bookAt, byOrder, enabling, entriesOf, isEnabled, keysOf, newEntry, orderOf, pathOf, reordered, titleOf } from "../../src/files/lorebook.ts";
import { withValue } from "../../src/format/paths.ts";
import recorded from "../fixtures/session.json" with { type: "json" };

const world = recorded.documents["larks.lorebook.json"];
const card = recorded.documents["wenna.json"];

describe("lorebooks in the forms that files have", () => {
  it("reads entries by number and in lists", () => {
    expect(entriesOf(world, []).map(titleOf)).toContain("Hartholm");
    const base = bookAt(card)!;
    expect(base).toEqual(["data", "character_book"]);
    expect(entriesOf(card, base).map(titleOf)).toContain("The mail boat");
  });

  it("writes fields where the entry has them", () => {
    const [flat] = entriesOf(world, []);
    expect([pathOf(flat!, "keys"), pathOf(flat!, "order"), pathOf(flat!, "sticky")]).toEqual([["key"], ["order"], ["sticky"]]);
    const [listed] = entriesOf(card, bookAt(card)!);
    expect([pathOf(listed!, "keys"), pathOf(listed!, "order")]).toEqual([["keys"], ["insertion_order"]]);
    expect(keysOf(flat!)).toContain("Larks");
  });

  it("turns entries off in their own words", () => {
    const [flat] = entriesOf(world, []);
    const { path, value } = enabling(flat!, false);
    expect(value).toBe(true);
    expect(isEnabled(entriesOf(withValue(world, path, value), [])[0]!)).toBe(false);
  });

  it.each([[0, 2], [2, 0], [1, 2], [5, 0], [0, 5]])("moves an entry from %i to %i", (from, to) => {
    const book = { entries: [10, 10, 11, 11, 40, 40].map((order, id) => ({ id, order })) };
    const before = byOrder(entriesOf(book, []));
    const changes = reordered(before, from, to);
    const after = changes.reduce<unknown>((done, { path, value }) => withValue(done, path, value), book);
    const wanted = before.map((entry) => entry.id).toSpliced(from, 1).toSpliced(to, 0, before[from]!.id);
    expect(byOrder(entriesOf(after, [])).map((entry) => entry.id)).toEqual(wanted);
    expect(byOrder(entriesOf(after, [])).map(orderOf)).toEqual(byOrder(entriesOf(after, [])).map(orderOf).toSorted((a, b) => a - b));
  });

  it("makes an entry in the shape of the others", () => {
    expect(newEntry(world, []).path).toEqual(["entries", "3"]);
    expect(newEntry({ entries: [] }, [])).toMatchObject({ path: ["entries", 0], insert: true });
  });
});
