import { styleText } from 'node:util';

/** Data goes to stdout, everything said about it to stderr. Colour only on a terminal, never with NO_COLOR. */
export interface Terminal {
  /** One line of data. */
  data(line: string): void;
  json(value: unknown): void;
  /** Rows under their headings, aligned. */
  table(headings: readonly string[], rows: readonly (readonly string[])[]): void;
  note(line: string): void;
  problem(message: string): void;
}

export function createTerminal(
  out: NodeJS.WriteStream = process.stdout,
  err: NodeJS.WriteStream = process.stderr,
): Terminal {
  const bold = (text: string): string => styleText('bold', text, { stream: out });
  return {
    data: (line) => void out.write(`${line}\n`),
    json: (value) => void out.write(`${JSON.stringify(value, null, 2)}\n`),
    table: (headings, rows) => {
      const [first = '', ...rest] = alignColumns([headings, ...rows]);
      out.write(`${[bold(first), ...rest].join('\n')}\n`);
    },
    note: (line) => void err.write(`${line}\n`),
    problem: (message) => void err.write(`${styleText('red', 'error:', { stream: err })} ${message}\n`),
  };
}

/** Pads every column to its widest cell; control characters in data never reach the terminal. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const clean = rows.map((row) => row.map((cell) => printable(cell)));
  const widths = (clean[0] ?? []).map((_, column) => Math.max(...clean.map((row) => row[column]?.length ?? 0)));
  return clean.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** The text without what could move the cursor or end the line. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, ' ');
}
