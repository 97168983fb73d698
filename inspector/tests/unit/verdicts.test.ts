import { describe, expect, it } from "vitest";

import type { VerdictView } from "../../src/api/types.ts";
import { reasons, selected, type Wanted } from "../../src/why/verdicts.ts";
import recorded from "../fixtures/session.json" with { type: "json" };

const verdicts = recorded.inspection.verdicts as unknown as VerdictView[];
const all: Wanted = { shown: "all", reason: "", search: "", sort: "index", down: false };

describe("verdicts", () => {
  it("are the same list where nothing is asked", () => {
    expect(selected(verdicts, all)).toBe(verdicts);
  });

  it("are chosen by being in, by reason, and by words", () => {
    expect(selected(verdicts, { ...all, shown: "in" }).map((one) => one.title)).toEqual(["The mail boat", "Skerrow"]);
    expect(selected(verdicts, { ...all, reason: "disabled" })).toHaveLength(1);
    expect(selected(verdicts, { ...all, search: "FERRY" }).map((one) => one.title)).toEqual(["The mail boat"]);
  });

  it("are sorted both ways", () => {
    const titles = selected(verdicts, { ...all, sort: "title" }).map((one) => one.title);
    expect(titles).toEqual(titles.toSorted());
    expect(selected(verdicts, { ...all, sort: "title", down: true }).map((one) => one.title)).toEqual(titles.toReversed());
    expect(selected(verdicts, { ...all, sort: "reason" })[0]?.fired).toBe(true);
    expect(selected(verdicts, { ...all, sort: "state" }).slice(0, 2).map((one) => one.title)).toEqual(["The mail boat", "Skerrow"]);
  });

  it("are counted by reason", () => {
    expect(reasons(verdicts)[0]).toEqual(["no_match", 9]);
  });
});
