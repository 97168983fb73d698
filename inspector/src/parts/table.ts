/** The columns of a table, and its rows as they are asked for. */

export interface Column<Row> {
  readonly key: string;
  readonly name: string;
  readonly value: (row: Row) => string | number | null;
  /** How a number is written. */
  readonly show?: (value: number) => string;
  readonly numeric?: boolean;
  readonly mono?: boolean;
}

export interface Wanted {
  readonly search: string;
  readonly by: string | null;
  readonly down: boolean;
}

/** The rows that have all words of a search, in the order of a column; what has no value there comes last. */
export function chosen<Row>(rows: readonly Row[], columns: readonly Column<Row>[], { search, by, down }: Wanted): readonly Row[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (row: Row): string => columns.map((column) => column.value(row) ?? "").join("\n").toLowerCase();
  const left = words.length ? rows.filter((row) => words.every((word) => text(row).includes(word))) : rows;
  const column = columns.find(({ key }) => key === by);
  if (!column) return left;
  return left.toSorted((one, other) => {
    const [a, b] = [column.value(one), column.value(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    return down ? -order : order;
  });
}
