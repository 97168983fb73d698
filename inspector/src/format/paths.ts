/** Places in documents: reading, and writing by copies that share what did not change. */

import type { Edit } from "../api/types.ts";

export type Step = string | number;
export type Path = readonly Step[];

type Container = Record<Step, unknown>;

const isContainer = (value: unknown): value is Container => typeof value === "object" && value !== null;

/** The value at a place; undefined where there is none. */
export function valueAt(document: unknown, path: Path): unknown {
  let value = document;
  for (const step of path) {
    if (!isContainer(value) || !Object.hasOwn(value, step)) return undefined;
    value = value[step];
  }
  return value;
}

/** A document with another value at a place; objects on the way are made where there are none. */
export function withValue(document: unknown, path: Path, value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (Array.isArray(document)) {
    const list: unknown[] = [...document];
    list[Number(step)] = withValue(list[Number(step)], rest, value);
    return list;
  }
  const before = isContainer(document) ? document : {};
  const inner = Object.hasOwn(before, step) ? before[step] : undefined;
  return defined({ ...before }, step, withValue(inner, rest, value));
}

/** A document without what is at a place. */
export function withoutValue(document: unknown, path: Path): unknown {
  const parent = valueAt(document, path.slice(0, -1));
  const last = path.at(-1);
  if (last === undefined || !isContainer(parent)) return document;
  if (Array.isArray(parent)) return withValue(document, path.slice(0, -1), parent.toSpliced(Number(last), 1));
  const kept = Object.fromEntries(Object.entries(parent).filter(([key]) => key !== String(last)));
  return withValue(document, path.slice(0, -1), kept);
}

/** A document with a value put into a list before what is at a place. */
export function withInserted(document: unknown, path: Path, value: unknown): unknown {
  const parent = valueAt(document, path.slice(0, -1));
  const list = Array.isArray(parent) ? (parent as unknown[]) : [];
  return withValue(document, path.slice(0, -1), list.toSpliced(Number(path.at(-1)), 0, value));
}

export const samePath = (a: Path, b: Path): boolean => a.length === b.length && startsWith(a, b);

export const startsWith = (path: Path, beginning: Path): boolean =>
  path.length >= beginning.length && beginning.every((step, index) => String(step) === String(path[index]));

/** A place in words: `data.entries[3].content`. */
export const pathText = (path: Path): string =>
  path.map((step, index) => (typeof step === "number" ? `[${step}]` : (index ? "." : "") + step)).join("");

/** A document after an edit. */
export function withEdit(document: unknown, { path, value, remove, insert }: Omit<Edit, "file">): unknown {
  if (remove) return withoutValue(document, path);
  return insert ? withInserted(document, path, value) : withValue(document, path, value);
}

export interface Difference {
  readonly path: Path;
  readonly value?: unknown;
  readonly remove?: boolean;
}

/** The smallest changes that make one document of the other; a list that got longer or shorter is one change. */
export function differences(before: unknown, after: unknown, path: Path = []): Difference[] {
  if (Object.is(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return after.flatMap((value, index) => differences(before[index], value, [...path, index]));
  }
  if (isContainer(before) && isContainer(after) && !Array.isArray(before) && !Array.isArray(after)) {
    const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
    return [
      ...removed.map((key): Difference => ({ path: [...path, key], remove: true })),
      ...Object.entries(after).flatMap(([key, value]) =>
        Object.hasOwn(before, key) ? differences(before[key], value, [...path, key]) : [{ path: [...path, key], value }],
      ),
    ];
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ path, value: after }];
}

// A key may be named `__proto__`: it is a key like any other.
function defined(object: Container, key: Step, value: unknown): Container {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  return object;
}
