/** Values in one list of a query. */
const listMax = 500;

/** Runs a query once per chunk of values; not at all without values. */
export async function inChunks<Value, Row>(
  values: readonly Value[],
  find: (chunk: readonly Value[]) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let at = 0; at < values.length; at += listMax) rows.push(...(await find(values.slice(at, at + listMax))));
  return rows;
}
