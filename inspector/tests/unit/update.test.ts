import { describe, expect, it } from "vitest";

import type { InspectionView } from "../../src/api/types.ts";
import { equal, patched, reused, updated } from "../../src/state/update.ts";
import recorded from "../fixtures/session.json" with { type: "json" };

const inspection = recorded.inspection as unknown as InspectionView;

describe("an inspection brought up to date", () => {
  it("keeps the objects of what did not change", () => {
    const again = JSON.parse(JSON.stringify(inspection)) as InspectionView;
    const next = updated(inspection, again);
    expect(next.messages).toBe(inspection.messages);
    expect(next.verdicts).toBe(inspection.verdicts);
    expect(next.origins).toBe(inspection.origins);
  });

  it("takes a message that changed alone", () => {
    const { messages, verdicts, ...rest } = inspection;
    const changed = { ...messages[1]!, tokens: 99 };
    const next = updated(inspection, { ...rest, messages_changed: { length: messages.length, changed: { "1": changed } } });
    expect(next.messages[1]).toBe(changed);
    expect(next.messages[0]).toBe(messages[0]);
    expect(next.verdicts).toBe(verdicts);
  });

  it("makes lists shorter and longer", () => {
    expect(patched(["a", "b", "c"], { length: 2, changed: {} })).toEqual(["a", "b"]);
    expect(patched(["a"], { length: 3, changed: { 1: "b", 2: "c" } })).toEqual(["a", "b", "c"]);
    expect(reused([{ a: 1 }], [{ a: 1 }, { a: 2 }])).toEqual([{ a: 1 }, { a: 2 }]);
  });

  it.each([[{ a: [1, null] }, { a: [1, null] }, true], [{ a: 1 }, { b: 1 }, false], [[1], { 0: 1 }, false], [1, "1", false]])("compares %j and %j", (a, b, same) => {
    expect(equal(a, b)).toBe(same);
  });
});
