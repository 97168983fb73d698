import { expect, test } from "vitest";

import type { InstalledSpeaker } from "../../src/api/types.ts";
import { chatsOf, withBook } from "../../src/shell/install.ts";

const speaker = (id: string, name: string, chats: string[], is_active = false): InstalledSpeaker => ({ id, name, chats, is_group: false, is_active });
const SPEAKERS = [speaker("Bram.png", "Bram", []), speaker("Mira.png", "Mira", ["Evening", "Cellar"], true), speaker("Nora.png", "Nora", ["The cellar"])];
const shown = (wanted: string): string[] => chatsOf(SPEAKERS, wanted).map(({ speaker: { name }, chat }) => (chat === null ? name : `${name}: ${chat}`));

test("who was open last is first, each before their chats", () => {
  expect(shown("")).toEqual(["Mira", "Mira: Evening", "Mira: Cellar", "Bram", "Nora", "Nora: The cellar"]);
});

test("a search finds names, files and chats", () => {
  expect(shown("cellar")).toEqual(["Mira", "Mira: Cellar", "Nora", "Nora: The cellar"]);
  expect(shown("bram.png")).toEqual(["Bram"]);
  expect(shown("nobody")).toEqual([]);
});

test("a lorebook is added to what is open, and taken away again", () => {
  const open = { name: "Mira", speaker: "Mira.png", chat: "Evening", is_new: false, choice: { books: ["Town"] } };
  expect(withBook(open, "Extra", true)).toEqual({ character: "Mira.png", chat: "Evening", books: ["Town", "Extra"] });
  expect(withBook(open, "Town", false).books).toEqual([]);
});
