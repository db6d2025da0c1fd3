import type { Readable, Writable } from 'node:stream';
import { styleText } from 'node:util';

type Signal = 'SIGINT' | 'SIGTERM';

/** A stream that a command writes to; a terminal has a width and a number of colours. */
export interface Output extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
  getColorDepth?(env?: object): number;
}

/** The process of a command: the real one, or a test's own, which runs a command without starting a process. */
export interface CommandProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Output;
  readonly stderr: Output;
  on(signal: Signal, listener: (signal: Signal) => void): unknown;
  off(signal: Signal, listener: (signal: Signal) => void): unknown;
  exit(code: number): void;
}

/** Writes data to stdout and messages to stderr. Colours only on a terminal, and never with NO_COLOR. */
export interface Terminal {
  readonly process: CommandProcess;
  /** Writes one line of data. */
  data(line: string): void;
  json(value: unknown): void;
  /** Writes aligned rows under their headings. */
  table(headings: readonly string[], rows: readonly (readonly string[])[]): void;
  note(line: string): void;
  problem(message: string): void;
  /** Styles text for stdout. */
  styled(style: Style, text: string): string;
}

export type Style = 'bold' | 'red' | 'green' | 'yellow';

export function createTerminal(process: CommandProcess): Terminal {
  const { stdout, stderr, env } = process;
  const styled = (stream: Output, style: Style, text: string): string =>
    hasColours(stream, env) ? styleText(style, text, { validateStream: false }) : text;
  return {
    process,
    data: (line) => void stdout.write(`${line}\n`),
    json: (value) => void stdout.write(`${JSON.stringify(value, null, 2)}\n`),
    table: (headings, rows) => {
      const [first = '', ...rest] = alignColumns([headings, ...rows]);
      stdout.write(`${[styled(stdout, 'bold', first), ...rest].join('\n')}\n`);
    },
    note: (line) => void stderr.write(`${line}\n`),
    problem: (message) => void stderr.write(`${styled(stderr, 'red', 'error:')} ${message}\n`),
    styled: (style, text) => styled(stdout, style, text),
  };
}

function hasColours(stream: Output, env: CommandProcess['env']): boolean {
  return stream.isTTY === true && (stream.getColorDepth?.(env) ?? 1) > 2;
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

const nameCharsMax = 80;

/** Shortens a name from the data, so that a long one does not push the other columns off the screen. */
export function shortName(name: string): string {
  const chars = [...name];
  return chars.length <= nameCharsMax ? name : `${chars.slice(0, nameCharsMax - 1).join('')}…`;
}

/** Replaces characters that could move the cursor or end the line. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, ' ');
}
