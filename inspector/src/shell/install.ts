/** What of a SillyTavern folder is listed, and what is asked to open it. */

import type { InstallChoice, InstalledSpeaker, InstallView } from "../api/types.ts";

/** Somebody who speaks, or with a chat one of theirs. */
export interface SpeakerRow {
  readonly speaker: InstalledSpeaker;
  readonly chat: string | null;
  /** Whether it says itself what is searched for. */
  readonly matches: boolean;
}

const has = (text: string, wanted: string): boolean => text.toLowerCase().includes(wanted);

/** Characters and groups, each before its chats: those that match, or of whose chats one does. The last open one is first. */
export function chatsOf(speakers: readonly InstalledSpeaker[], wanted: string): readonly SpeakerRow[] {
  const sorted = speakers.toSorted((a, b) => Number(b.is_active) - Number(a.is_active) || a.name.localeCompare(b.name));
  return sorted.flatMap((speaker) => {
    const matches = has(speaker.name, wanted) || has(speaker.id, wanted);
    const chats = speaker.chats.filter((chat) => matches || has(chat, wanted));
    if (!matches && !chats.length) return [];
    return [{ speaker, chat: null, matches }, ...chats.map((chat) => ({ speaker, chat, matches: has(chat, wanted) }))];
  });
}

export const matching = <T extends { readonly name: string }>(items: readonly T[], wanted: string): readonly T[] =>
  items.filter(({ name }) => has(name, wanted));

/** The choice of what is open, with a lorebook more or less. */
export function withBook({ choice, speaker, chat, is_new }: InstallView, book: string, on: boolean): InstallChoice {
  const books = (choice.books ?? []).filter((name) => name !== book);
  const here = choice.group === null || choice.group === undefined ? { character: speaker } : {};
  return { ...choice, ...here, chat: is_new ? null : chat, books: on ? [...books, book] : books };
}
