import { describe, expect, it } from "vitest";

import type { FileView } from "../../src/api/types.ts";
import { replaced } from "../../src/shell/templates.ts";

const file = (id: string, ...parts: string[]): FileView => ({ id, parts }) as unknown as FileView;
const files = [file("card"), file("a", "instruct"), file("b", "instruct"), file("all", "preset", "instruct", "context")];

describe("a template that is chosen", () => {
  it("takes the place of another, and of no file with further parts", () => {
    expect(replaced(files, ["card", "all", "a"], "instruct", "b")).toEqual(["card", "all", "b"]);
  });

  it("may be none", () => {
    expect(replaced(files, ["card", "a"], "instruct", "")).toEqual(["card"]);
  });
});
