/** How moments and amounts of the library are written. */

/** A moment as people write it, by the clock of the one who looks; what is none stays as it is. */
export function moment(iso: string | null, language: string): string {
  if (!iso) return "";
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  return new Intl.DateTimeFormat(language, { dateStyle: "short", timeStyle: "short" }).format(at);
}

/** US dollars; small amounts with all that counts of them. */
export const dollars = (value: number, language: string): string =>
  new Intl.NumberFormat(language, { style: "currency", currency: "USD", maximumFractionDigits: value < 1 ? 5 : 2 }).format(value);
