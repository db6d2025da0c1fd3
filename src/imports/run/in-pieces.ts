/** Values in one list of a query. */
const listMax = 500;

/** Asks for so many values at a time as one query may hold; none: without asking. */
export async function inPieces<Value, Row>(
  values: readonly Value[],
  find: (piece: readonly Value[]) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let at = 0; at < values.length; at += listMax) rows.push(...(await find(values.slice(at, at + listMax))));
  return rows;
}
