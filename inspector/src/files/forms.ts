/** The forms of files, made from what reads them: which fields there are, where each stands, and what it can be. */

import { type Path, valueAt } from "../format/paths.ts";
import { equal } from "../state/update.ts";
import data from "./forms.json";

export type FormName = keyof typeof data.forms;
export type FieldKind =
  | "line" | "text" | "number" | "integer" | "flag" | "maybe" | "choice" | "numbers" | "keys" | "tags" | "texts" | "json" | "shown";
export type Choice = readonly [value: string | number, word: string];

export interface FormField {
  readonly name: string;
  readonly group: string;
  readonly kind: FieldKind;
  /** By the spelling of an entry; "" where there is one only. */
  readonly in: Readonly<Record<string, { readonly paths: readonly Path[]; readonly default: unknown; readonly inverted?: boolean }>>;
  readonly choices?: readonly Choice[];
  readonly range?: readonly [number | null, number | null];
}

/** A field where it stands in a document; what it is where the document does not say. */
export interface PlacedField {
  readonly field: FormField;
  readonly path: Path;
  readonly fallback: unknown;
  readonly inverted: boolean;
}

export const FORMS = data.forms as unknown as Readonly<Record<FormName, readonly FormField[]>>;

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/** In whose words an entry is written. */
export function spellingOf(entry: unknown): "card" | "world" {
  const count = (names: readonly string[]): number => names.filter((name) => isRecord(entry) && Object.hasOwn(entry, name)).length;
  return count(data.spellings.card) > count(data.spellings.world) ? "card" : "world";
}

/** Where a value has a field: the first place that is there, else the one that is written. */
export function placeOf(value: unknown, field: FormField, spelling = ""): PlacedField | null {
  const known = field.in[spelling];
  const path = known?.paths.find((one) => valueAt(value, one) !== undefined) ?? known?.paths[0];
  return known && path ? { field, path, fallback: known.default, inverted: known.inverted === true } : null;
}

/** All fields of a form at a place of a document. */
export function placed(document: unknown, base: Path, name: FormName): readonly PlacedField[] {
  const value = valueAt(document, base);
  const spelling = name === "entry" ? spellingOf(value) : "";
  return FORMS[name].flatMap((field) => {
    const place = placeOf(value, field, spelling);
    return place ? [{ ...place, path: [...base, ...place.path] }] : [];
  });
}

/** The choice that a value stands for. */
export const chosen = (choices: readonly Choice[], value: unknown): Choice | undefined =>
  choices.find(([written, word]) => String(written) === String(value) || (typeof value === "string" && word === value.replaceAll("-", "_")));

/** Whether a document says other than what holds without it. */
export function isSet({ field, path, fallback, inverted }: PlacedField, document: unknown): boolean {
  const value = valueAt(document, path);
  if (value === undefined || value === null || value === "" || field.kind === "shown" || (Array.isArray(value) && !value.length)) return false;
  if (field.kind === "flag") return (Boolean(value) !== inverted) !== (fallback === true);
  if (field.choices && field.kind === "choice") return chosen(field.choices, value)?.[1] !== chosen(field.choices, fallback)?.[1];
  return !equal(value, fallback) && !(typeof value === "boolean" && Number(value) === fallback);
}

const ASSETS: readonly FormName[] = ["preset", "text_preset", "context", "instruct", "system_prompt", "reasoning"];

/** The form of a preset or template: the one most of whose fields it has; null where it has no more than a few. */
export function assetForm(document: unknown): FormName | null {
  const counts = ASSETS.map((name) => [placed(document, [], name).filter(({ path }) => path[0] !== "name" && valueAt(document, path) !== undefined).length, name] as const);
  const [most, name] = counts.reduce((best, one) => (one[0] > best[0] ? one : best), [0, "preset"] as const);
  return most >= 1 ? name : null;
}
