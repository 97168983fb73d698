import { describe, expect, it } from "vitest";

import { drift } from "../../src/parts/hold.ts";

describe("what is looked at", () => {
  const starts = new Map([["a", 0], ["b", 150]]);
  const at = (key: string | number): number | undefined => starts.get(String(key));

  it("is scrolled to by as much as it was moved", () => {
    expect(drift({ key: "b", above: 20 }, 120, at)).toBe(50);
    expect(drift({ key: "b", above: 20 }, 170, at)).toBe(0);
  });

  it("stays where it is when it is gone, or nothing was", () => {
    expect(drift({ key: "c", above: 20 }, 120, at)).toBe(0);
    expect(drift(null, 120, at)).toBe(0);
  });
});
