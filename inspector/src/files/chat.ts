/** The messages of a chat file: SillyTavern's lines, or a document with messages. */

import { type Path, valueAt, withValue } from "../format/paths.ts";

export interface ChatMessage {
  readonly path: Path;
  readonly text: Path;
  readonly name: string;
  readonly user: boolean;
}

const TEXTS = ["mes", "content", "text"];

export function messagesOf(document: unknown): readonly ChatMessage[] {
  const base: Path = Array.isArray(document) ? [] : ["messages"];
  const list = valueAt(document, base);
  if (!Array.isArray(list)) return [];
  return list.flatMap((value: unknown, index): ChatMessage[] => {
    if (typeof value !== "object" || value === null) return [];
    const message = value as Record<string, unknown>;
    const field = TEXTS.find((name) => Object.hasOwn(message, name));
    if (!field) return [];
    const path = [...base, index];
    const role = message["role"];
    const user = message["is_user"] === true || role === "user";
    return [{ path, text: [...path, field], name: String(message["name"] ?? role ?? ""), user }];
  });
}

/** The messages that a chat has after what was said and answered, in the shape of those before. */
export function continued(document: unknown, said: string | null, answer: string): readonly { readonly path: Path; readonly value: unknown }[] {
  const base: Path = Array.isArray(document) ? [] : ["messages"];
  const list = valueAt(document, base);
  if (!Array.isArray(list)) return [];
  const known = messagesOf(document);
  const flat = known.some((message) => message.text.at(-1) === "content");
  const name = (user: boolean): string => known.findLast((message) => message.user === user)?.name ?? (user ? "User" : "Character");
  const made = (user: boolean, text: string): unknown =>
    flat ? { role: user ? "user" : "assistant", content: text } : { name: name(user), is_user: user, is_system: false, mes: text };
  const values = [...(said ? [made(true, said)] : []), made(false, answer)];
  return values.map((value, index) => ({ path: [...base, list.length + index], value }));
}

/** The chat after so many of its messages; what stands before them, such as a head, stays. */
export function upTo(document: unknown, messages: number): unknown {
  const base: Path = Array.isArray(document) ? [] : ["messages"];
  const list = valueAt(document, base);
  const next = messagesOf(document)[messages];
  return Array.isArray(list) && next ? withValue(document, base, list.slice(0, Number(next.path.at(-1)))) : document;
}

/** The texts of a chat. */
export const textsOf = (document: unknown): readonly string[] => messagesOf(document).map((message) => String(valueAt(document, message.text) ?? ""));

/** A chat file of nothing but its head. */
export const NEW_CHAT = `${JSON.stringify({ user_name: "User", character_name: "Character", chat_metadata: {} })}\n`;
