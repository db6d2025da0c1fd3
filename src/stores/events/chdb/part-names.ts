/** `202401_2_9_1` or, after mutation 15, `202401_2_9_1_15`: the inserts whose rows a part contains. */
export interface PartName {
  readonly partition: string;
  readonly firstBlock: number;
  readonly lastBlock: number;
  readonly level: number;
  readonly mutation: number;
}

/** Tables are partitioned by month, or not at all. */
const form = /^(\d+|all)_(\d+)_(\d+)_(\d+)(?:_(\d+))?$/;

/** Returns undefined for other names. */
export function readPartName(name: string): PartName | undefined {
  const [, partition, firstBlock, lastBlock, level, mutation] = form.exec(name) ?? [];
  if (partition === undefined) return undefined;
  return {
    partition,
    firstBlock: Number(firstBlock),
    lastBlock: Number(lastBlock),
    level: Number(level),
    mutation: Number(mutation ?? 0),
  };
}

/** Returns whether the rows of `inner` are in `outer`, as the engine decides when it opens a table. A part covers itself. */
export function covers(outer: PartName, inner: PartName): boolean {
  return (
    outer.partition === inner.partition &&
    outer.firstBlock <= inner.firstBlock &&
    outer.lastBlock >= inner.lastBlock &&
    outer.level >= inner.level &&
    outer.mutation >= inner.mutation
  );
}

/** Returns parts that no other covers, in the order of partitions and blocks. */
export function uncovered(names: readonly string[]): string[] {
  const parts = names.flatMap((name) => {
    const part = readPartName(name);
    return part === undefined ? [] : [{ name, part }];
  });
  const kept: typeof parts = [];
  // Kept parts that reach at least as far as the current one. A part that covers others comes before them.
  let open: typeof parts = [];
  for (const each of parts.toSorted((a, b) => compareParts(a.part, b.part))) {
    open = open.filter(({ part }) => part.partition === each.part.partition && part.lastBlock >= each.part.firstBlock);
    if (open.some(({ part }) => covers(part, each.part))) continue;
    open.push(each);
    kept.push(each);
  }
  return kept.map(({ name }) => name);
}

function compareParts(a: PartName, b: PartName): number {
  if (a.partition !== b.partition) return a.partition < b.partition ? -1 : 1;
  return a.firstBlock - b.firstBlock || b.lastBlock - a.lastBlock || b.level - a.level || b.mutation - a.mutation;
}

/**
 * Filters the engine's log of insert tokens (`1 <part> <token>`, with tabs) to existing parts: rows that are inserted again under the
 * token of a missing part must be stored. Tokens of existing parts stay, so that nothing is stored twice.
 */
export function keepTokensOf(names: readonly string[], log: string): string {
  const byPartition = Map.groupBy(
    names.map((name) => readPartName(name)).filter((part) => part !== undefined),
    ({ partition }) => partition,
  );
  const isThere = (line: string): boolean => {
    const part = readPartName(line.split('\t')[1] ?? '');
    return part !== undefined && (byPartition.get(part.partition) ?? []).some((each) => covers(each, part));
  };
  // The last line may be incomplete if the engine was writing it.
  const whole = log.split('\n').slice(0, -1);
  return whole
    .filter((line) => line.split('\t').length === 3 && isThere(line))
    .map((line) => `${line}\n`)
    .join('');
}
