/** What the tokens of a prompt went to, by where its text came from. */

import type { InspectionView } from "../api/types.ts";

export interface Share {
  readonly asset: string;
  readonly colour: number;
  readonly tokens: number;
}

/** What belongs to no text: marks between messages, pictures, tools. */
export const FRAMING: Share = { asset: "framing", colour: 11, tokens: 0 };

/** The shares in the order of their colours; together they are what is used. A message's tokens are shared by its characters. */
export function shares({ messages, origins, tokens }: InspectionView): readonly Share[] {
  const sums = new Map<string, { asset: string; colour: number; tokens: number }>();
  let rest = tokens.used;
  for (const message of messages) {
    const length = message.pieces.reduce((sum, piece) => sum + piece.text.length, 0);
    for (const { text, origin } of message.pieces) {
      const from = origin === null ? undefined : origins[origin];
      if (!from || !text) continue;
      const sum = sums.get(from.asset) ?? { asset: from.asset, colour: from.colour, tokens: 0 };
      sum.tokens += (message.tokens * text.length) / length;
      sums.set(from.asset, sum);
    }
  }
  const out = [...sums.values()].sort((a, b) => a.colour - b.colour).map((sum) => ({ ...sum, tokens: Math.round(sum.tokens) }));
  for (const sum of out) rest -= sum.tokens;
  const largest = out.reduce<(typeof out)[number] | null>((best, one) => (best && best.tokens >= one.tokens ? best : one), null);
  if (rest < 0 && largest) largest.tokens += rest; // what rounding added
  return rest > 0 ? [...out, { ...FRAMING, tokens: rest }] : out;
}
