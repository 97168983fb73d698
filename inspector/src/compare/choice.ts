/** One side of a comparison: what is other than now. */

import type { SettingsChange } from "../api/types.ts";

export interface Choice {
  /** The files as saved, not as edited. */
  readonly saved: boolean;
  readonly turn?: number | null;
  readonly tavern?: string;
  readonly model?: string;
  readonly profile?: string;
  readonly used?: readonly string[];
}

export function patchOf(choice: Choice): SettingsChange {
  return {
    ...(choice.turn === undefined ? {} : { turn: choice.turn }),
    ...(choice.tavern ? { tavern: choice.tavern, profile: null } : {}),
    ...(choice.model ? { model: choice.model } : {}),
    ...(choice.profile ? { profile: choice.profile } : {}),
    ...(choice.used ? { used: choice.used } : {}),
  };
}
