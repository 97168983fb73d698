import { describe, expect, it } from "vitest";

import type { Trim, TurnEntryView, TurnView, VerdictView } from "../../src/api/types.ts";
import { trimsBefore } from "../../src/prompt/trims.ts";
import { kindOf, matching, near, rowsOf, runsOf } from "../../src/time/matrix.ts";

const entry = (title: string, reason: string, fired: boolean, book = "Larks"): TurnEntryView => ({ book, uid: title, title, fired, reason, parameters: {} });
const turn = (message: number, ...entries: readonly TurnEntryView[]): TurnView => ({ message, tokens: 10, window: null, assets: [], left_out: 0, entries, shared: 0, read: 0, why: null, mend: null });

describe("entries by turns", () => {
  it("are rows in the order in which they came, with the prompt as it is as the last column", () => {
    const turns = [turn(0, entry("Inn", "constant", true)), turn(2, entry("Inn", "constant", true), entry("Reef", "key", true)), turn(4, entry("Reef", "sticky", true))];
    const rows = rowsOf(turns, [entry("Reef", "cooldown", false), entry("Fog", "probability", false)]);
    expect(rows.map(({ title, fired, cells }) => [title, fired, [...cells.keys()]])).toEqual([["Inn", 2, [0, 1]], ["Reef", 2, [1, 2, 3]], ["Fog", 0, [3]]]);
    expect(runsOf(rows[0]!)).toEqual([{ from: 0, to: 1, kind: "constant" }]);
    expect(runsOf(rows[1]!).map(({ kind }) => kind)).toEqual(["key", "sticky", "timer"]);
  });

  it("say their book where two have one title", () => {
    const rows = rowsOf([turn(0, entry("Inn", "key", true), entry("Inn", "key", true, "Card"), entry("Fog", "key", true))], []);
    expect(rows.map(({ book, twin }) => [book, twin])).toEqual([["Larks", true], ["Card", true], ["Larks", false]]);
  });

  it("are searched by title and book", () => {
    const rows = rowsOf([turn(0, entry("Bell Reef", "key", true), entry("Reef", "key", true, "Card"))], []);
    expect(matching(rows, " reef card").map(({ book }) => book)).toEqual(["Card"]);
    expect(matching(rows, "")).toBe(rows);
  });

  it("are of a kind by what decided", () => {
    const kinds = [["constant", true], ["matched_before", true], ["searched", true], ["delay", false], ["probability", false], ["budget", false]] as const;
    expect(kinds.map(([reason, fired]) => kindOf(entry("x", reason, fired)))).toEqual(["constant", "sticky", "key", "timer", "chance", "lost"]);
  });

  it("are near where a key, a roll, a timer or a group decided", () => {
    const verdict = { fired: false, reason: "no_match", key: null, group: null, roll: null, timed: null } as unknown as VerdictView;
    const all = [verdict, { ...verdict, key: "reef" }, { ...verdict, reason: "budget" }, { ...verdict, fired: true }];
    expect(near(all)).toEqual(all.slice(1));
  });
});

describe("what was left out", () => {
  it("stands before its message, or at the end", () => {
    const trim = (id: string, before: number | null): Trim => ({ id, group: "history", tokens: 1, rule: "r", text: "", role: "user", before });
    const places = trimsBefore([trim("a", 2), trim("b", 2), trim("c", null)], 9);
    expect([...places].map(([at, trims]) => [at, trims.map(({ id }) => id)])).toEqual([[2, ["a", "b"]], [9, ["c"]]]);
  });
});
