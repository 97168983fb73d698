/** The versions of a template: which holds a label, and which held it before. */

import type { TemplateView } from "../api/types.ts";

export const PRODUCTION = "production";

/** The version that a label points at; null where it points at none. */
export const held = (template: TemplateView, label: string): number | null => template.summary.labels[label] ?? null;

/** The version that held a label before the one that does; null where there was none. */
export function heldBefore(template: TemplateView, label: string): number | null {
  const now = held(template, label);
  const move = template.moves.findLast((one) => one.label === label && one.before !== null && one.before !== now);
  return move?.before ?? null;
}

/** The labels that there are, with the one that counts first. */
export const labelsOf = (template: TemplateView): readonly string[] => [
  PRODUCTION,
  ...Object.keys(template.summary.labels)
    .filter((label) => label !== PRODUCTION)
    .sort(),
];
