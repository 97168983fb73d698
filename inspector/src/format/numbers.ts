/** Numbers as people read them. */

const formats = new Map<string, Intl.NumberFormat>();

function format(language: string, key: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const id = `${language} ${key}`;
  let made = formats.get(id);
  if (!made) formats.set(id, (made = new Intl.NumberFormat(language, options)));
  return made;
}

export const count = (value: number, language = "en"): string => format(language, "count", {}).format(value);

export const percent = (share: number, language = "en"): string =>
  format(language, "percent", { style: "percent", maximumFractionDigits: share < 0.1 ? 1 : 0 }).format(share);

/** A time in milliseconds: one decimal below ten, none above. */
export const milliseconds = (value: number): string => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;

export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  return value < 1_000_000 ? `${(value / 1000).toFixed(1)} kB` : `${(value / 1_000_000).toFixed(1)} MB`;
}
