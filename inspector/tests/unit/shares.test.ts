import { describe, expect, it } from "vitest";

import type { InspectionView } from "../../src/api/types.ts";
import { shares } from "../../src/prompt/shares.ts";
import recorded from "../fixtures/session.json" with { type: "json" };

describe("the tokens of a prompt by origin", () => {
  it("are all that are used", () => {
    const inspection = recorded.inspection as unknown as InspectionView;
    const parts = shares(inspection);
    expect(parts.reduce((sum, part) => sum + part.tokens, 0)).toBe(inspection.tokens.used);
    expect(parts.every((part) => part.tokens >= 0)).toBe(true);
  });

  it("are shared by characters, and the rest is framing", () => {
    const inspection = {
      tokens: { used: 13 },
      origins: [{ asset: "preset", colour: 2 }, { asset: "character", colour: 0 }],
      messages: [{ tokens: 10, pieces: [{ text: "aaaaaa", origin: 0 }, { text: "bbbb", origin: 1 }] }],
    } as unknown as InspectionView;
    expect(shares(inspection)).toEqual([
      { asset: "character", colour: 0, tokens: 4 },
      { asset: "preset", colour: 2, tokens: 6 },
      { asset: "framing", colour: 11, tokens: 3 },
    ]);
  });
});
