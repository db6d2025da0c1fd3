/** `202401_2_9_1` or, changed by the mutation 15, `202401_2_9_1_15`: which inserts' rows a part holds. */
export interface PartName {
  readonly partition: string;
  readonly firstBlock: number;
  readonly lastBlock: number;
  readonly level: number;
  readonly mutation: number;
}

/** Tables are partitioned by month, or not at all. */
const form = /^(\d+|all)_(\d+)_(\d+)_(\d+)(?:_(\d+))?$/;

/** Undefined: the name of something else. */
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

/** Whether the rows of `inner` are in `outer`, as the engine decides it when it opens a table. A part covers itself. */
export function covers(outer: PartName, inner: PartName): boolean {
  return (
    outer.partition === inner.partition &&
    outer.firstBlock <= inner.firstBlock &&
    outer.lastBlock >= inner.lastBlock &&
    outer.level >= inner.level &&
    outer.mutation >= inner.mutation
  );
}

/** Those that no other one covers, in the order of partitions and blocks. */
export function uncovered(names: readonly string[]): string[] {
  const parts = names.flatMap((name) => {
    const part = readPartName(name);
    return part === undefined ? [] : [{ name, part }];
  });
  const kept: typeof parts = [];
  // Kept ones that reach as far as the part at hand or further. A part that covers others comes before them.
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
 * The engine's log of insert tokens (`1 <part> <token>`, with tabs), without those of parts that are not there: rows that come again
 * under such a token have to be stored. Those of parts that are there stay, so that nothing is stored twice.
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
  // The last line may be cut off where the engine was writing it.
  const whole = log.split('\n').slice(0, -1);
  return whole
    .filter((line) => line.split('\t').length === 3 && isThere(line))
    .map((line) => `${line}\n`)
    .join('');
}
