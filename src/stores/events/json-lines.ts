/** Parses the engine's JSONEachRow output: one object per line, raw newlines only between them. */
export function parseLines<Row>(lines: Buffer): Row[] {
  const text = lines.toString('utf8').trimEnd();
  return text === '' ? [] : (JSON.parse(`[${text.replaceAll('\n', ',')}]`) as Row[]);
}
