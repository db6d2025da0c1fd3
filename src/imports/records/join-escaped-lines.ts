/**
 * A backslash before a line break makes it part of the value, as data feeds write it: what comes after it belongs to the same record.
 * Lines that are open at the end are kept for the next call.
 */
export interface EscapedLines {
  join(lines: readonly string[]): readonly string[];
  /** What is left open, at the end. */
  rest(): readonly string[];
}

export function createEscapedLines(): EscapedLines {
  let open: string | undefined;
  return {
    join: (lines) => {
      const whole: string[] = [];
      for (const line of lines) {
        const text = open === undefined ? line : `${open}\n${line}`;
        open = isOpen(line) ? text : undefined;
        if (open === undefined) whole.push(text);
      }
      return whole;
    },
    rest: () => {
      const left = open === undefined ? [] : [open];
      open = undefined;
      return left;
    },
  };
}

/** Ends with a backslash that is not escaped itself. */
function isOpen(line: string): boolean {
  if (!line.endsWith('\\')) return false;
  const backslashes = /\\+$/.exec(line)?.[0].length ?? 0;
  return backslashes % 2 === 1;
}
