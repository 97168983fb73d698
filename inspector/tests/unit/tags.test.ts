import { describe, expect, it } from "vitest";

import { tagsOf } from "../../src/format/tags.ts";

const shown = (text: string) => tagsOf(text).map(({ from, to, kind }) => `${kind} ${text.slice(from, to)}`);

describe("tags", () => {
  it("are whole, however deep others are in them", () => {
    expect(shown("a {{x::{{y::{{z}}}}}} b {{c}}")).toEqual(["tag {{x::{{y::{{z}}}}}}", "tag {{c}}"]);
  });

  it("have the words of blocks", () => {
    expect(shown("{{#when::{{a}}}}{{:else}}{{/when}}{{/}}")).toEqual([
      "tag {{#when::{{a}}}}",
      "block #when",
      "tag {{:else}}",
      "block :else",
      "tag {{/when}}",
      "block /when",
      "tag {{/}}",
      "block /",
    ]);
    expect(shown("{{// a comment}}")).toEqual(["tag {{// a comment}}"]);
  });

  it("may never close", () => {
    expect(shown("{{a {{b}} }")).toEqual(["open {{", "tag {{b}}"]);
    expect(shown("}} {")).toEqual([]);
  });
});
