const newline = 0x0a;

/** Counts lines that end with a newline. */
export function countLines(lines: Buffer): number {
  let count = 0;
  for (let at = lines.indexOf(newline); at !== -1; at = lines.indexOf(newline, at + 1)) count += 1;
  return count;
}
