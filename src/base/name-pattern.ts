/** Returns a function that checks whether a name equals an entry of the list, or matches one in which `*` matches any characters. */
export function createMatcher(list: readonly string[]): (name: string) => boolean {
  const names = new Set(list.filter((each) => !each.includes('*')));
  const patterns = list.filter((each) => each.includes('*')).map((each) => each.split('*'));
  return (name) => names.has(name) || patterns.some((pieces) => isLike(name, pieces));
}

/**
 * Matches the pieces between a pattern's stars in order. The first position that fits is always the best, so no backtracking is
 * needed.
 */
function isLike(name: string, pieces: readonly string[]): boolean {
  const [first = ''] = pieces;
  const last = pieces.at(-1) ?? '';
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
