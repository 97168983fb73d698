import { describe, expect, it } from "vitest";

import { addressOf, type Shown, shownAt } from "../../src/shell/address.ts";

const USUAL: Shown = { room: "workspace", view: "prompt", side: "why", pane: "middle", shelf: "templates", tab: "content", template: null, version: null, values: null, file: null, entry: null, message: null };
const KNOWN = { room: ["workspace", "library"], view: ["prompt", "wire"], side: ["why", "settings"], pane: ["middle"], shelf: ["templates"], tab: ["content", "run"] };

describe("the address of a view", () => {
  it("is empty where all is as usual", () => {
    expect(addressOf(USUAL)).toBe("");
    expect(shownAt("", KNOWN)).toEqual(USUAL);
  });

  it("leads back to what was shown", () => {
    const shown: Shown = { ...USUAL, view: "wire", side: "settings", file: "f3", entry: "a b#&=1", message: 16 };
    expect(addressOf(shown)).toContain("message=17");
    const template: Shown = { ...USUAL, room: "library", template: "a/b c", version: "2", tab: "run", values: '{"guest":"Ö #&"}' };
    expect(shownAt(`#${addressOf(template)}`, KNOWN)).toEqual(template);
    expect(shownAt(`#${addressOf(shown)}`, KNOWN)).toEqual(shown);
  });

  it("is taken for nothing where it says what there is not", () => {
    expect(shownAt("#view=oven&message=-1&room=%00", KNOWN)).toEqual(USUAL);
  });
});
