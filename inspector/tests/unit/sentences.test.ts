import { describe, expect, it } from "vitest";

import table from "../../src/words/sentences.json" with { type: "json" };
import { translator } from "../../src/words/sentences.ts";

const said = translator(table);

describe("sentences of the service in Chinese", () => {
  it("keep what they quote", () => {
    expect(said("the lorebook 'Town' is not there: it has no entries")).toBe("世界书 'Town' 不存在：没有条目");
    expect(said("5 is not a text")).toBe("5 不是文本");
  });

  it("go on with sentences that are in them", () => {
    expect(said("the card cannot be read: not JSON: line feed")).toBe("角色卡无法读取：不是 JSON：line feed");
    expect(said("'inn' is in message 3 from the end, and the scan depth is 2; 'sea' would match without matchWholeWords")).toContain("；");
  });

  it("leave what nobody knows as it is", () => {
    for (const text of ["", "The quick fox; and more", "'quoted'"]) expect(said(text)).toBe(text);
  });

  it("have a place for each value, and for no other", () => {
    for (const [template, sentence] of Object.entries(table)) {
      const places = [...sentence.matchAll(/\{(\d)\}/g)].map(([, index]) => Number(index));
      expect(Math.max(-1, ...places), template).toBeLessThan(template.split("{}").length - 1);
    }
  });
});
