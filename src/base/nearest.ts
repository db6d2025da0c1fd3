/** Returns the word that was probably meant, or `undefined` if none is similar. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const farthest = Math.max(1, Math.floor(word.length / 3));
  const near = known
    .map((each) => ({ each, distance: distance(word.toLowerCase(), each.toLowerCase()) }))
    .filter((candidate) => candidate.distance <= farthest)
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.each;
}

/** Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...a].entries()) {
    const next = [index + 1];
    for (const [column, other] of [...b].entries()) {
      const [above = 0, diagonal = 0] = [row[column + 1], row[column]];
      next.push(Math.min(above + 1, (next[column] ?? 0) + 1, diagonal + (letter === other ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
