import { describe, expect, it } from "vitest";

import { emphasised } from "../../src/format/emphasis.ts";

const shown = (text: string): readonly string[] => emphasised(text).map((run) => `${run.tag}|${run.text}`);

describe("emphasis", () => {
  it("is what stands between its marks", () => {
    expect(shown("*She nods.* So **very** late.")).toEqual(["em|She nods.", "| So ", "strong|very", "| late."]);
  });

  it("ends with its line, and marks around nothing stay", () => {
    for (const text of ["*a\nb*", "**", "five * six"]) expect(shown(text)).toEqual([`|${text}`]);
    expect(shown("")).toEqual([]);
  });
});
