/**
 * The order of a family: what the file lists stands as listed; what it does not list stays behind what it stood behind.
 * `listed` and `present` hold the same values for what is both.
 */
export function wantedOrder<T>(listed: readonly T[], present: readonly T[]): T[] {
  const isListed = new Set(listed);
  const order = [...listed];
  for (const [index, each] of present.entries()) {
    if (isListed.has(each)) continue;
    const before = present[index - 1];
    order.splice(before === undefined ? 0 : order.indexOf(before) + 1, 0, each);
  }
  return order;
}

/** The fewest values to move so that `before` becomes `after`; both hold the same values. */
export function movedOf<T>(before: readonly T[], after: readonly T[]): T[] {
  const places = after.map((each) => before.indexOf(each));
  const stays = new Set(longestRise(places));
  return after.filter((_, index) => !stays.has(places[index] ?? -1));
}

/** The longest of the sequences of rising numbers, none of which needs to be a neighbour of the next. */
function longestRise(numbers: readonly number[]): number[] {
  const best: number[][] = [];
  for (const number of numbers) {
    const longest = best
      .filter((rise) => (rise.at(-1) ?? -1) < number)
      .reduce<number[]>((a, b) => (b.length > a.length ? b : a), []);
    best.push([...longest, number]);
  }
  return best.reduce<number[]>((a, b) => (b.length > a.length ? b : a), []);
}
