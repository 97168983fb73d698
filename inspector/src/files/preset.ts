/** Presets with prompts: the order is a list beside them, or that of the prompts themselves. */

import { type Path, valueAt } from "../format/paths.ts";

export interface Slot {
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
  /** Where the prompt itself is; null where the order names one that is not there. */
  readonly prompt: Path | null;
  readonly enabledAt: Path;
  readonly marker: boolean;
}

export interface Order {
  readonly path: Path;
  readonly list: readonly unknown[];
  readonly slots: readonly Slot[];
}

const record = (value: unknown): Record<string, unknown> => (typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {});

export function orderOf(document: unknown): Order | null {
  const prompts = valueAt(document, ["prompts"]);
  if (!Array.isArray(prompts)) return null;
  const at = new Map(prompts.map((prompt: unknown, index) => [String(record(prompt)["identifier"] ?? index), index]));
  const slot = (id: string, enabled: unknown, enabledAt: Path): Slot => {
    const index = at.get(id);
    const prompt = record(index === undefined ? null : prompts[index]);
    const marker = prompt["marker"] === true || (index !== undefined && prompt["content"] === undefined);
    return { id, name: String(prompt["name"] || id), enabled: enabled !== false, prompt: index === undefined ? null : ["prompts", index], enabledAt, marker };
  };
  const orders = valueAt(document, ["prompt_order"]);
  if (Array.isArray(orders) && orders.length) {
    // The order for all characters is the last of those that SillyTavern writes.
    const index = orders.length - 1;
    const path = ["prompt_order", index, "order"];
    const list = valueAt(document, path);
    if (Array.isArray(list)) {
      const slots = list.map((item: unknown, number) => slot(String(record(item)["identifier"]), record(item)["enabled"], [...path, number, "enabled"]));
      return { path, list, slots };
    }
  }
  const slots = prompts.map((prompt: unknown, index) => slot(String(record(prompt)["identifier"] ?? index), record(prompt)["enabled"], ["prompts", index, "enabled"]));
  return { path: ["prompts"], list: prompts, slots };
}
