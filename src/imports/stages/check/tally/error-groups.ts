import type { ErrorGroup } from '../../../../wire/contract/import-results.ts';

/** Groups rejected records by their fault, each with the first example. */
export interface ErrorGroups {
  add(code: string, reason: string, example: ErrorGroup['example'], count?: number): void;
  addGroup(group: ErrorGroup): void;
  /** Lists groups, most frequent first. */
  list(): ErrorGroup[];
}

const groupsMax = 100;
const originalCharsMax = 2000;
/** Group of further kinds of faults. */
const other = { code: 'other', reason: 'further kinds of faults, see the files of rejected records' } as const;

export function createErrorGroups(): ErrorGroups {
  const groups = new Map<string, { code: string; reason: string; example: ErrorGroup['example']; count: number }>();
  const add: ErrorGroups['add'] = (code, reason, example, count = 1) => {
    const key = `${code} ${kindOf(reason)}`;
    const known = groups.get(key);
    if (known !== undefined) known.count += count;
    else if (groups.size < groupsMax - 1 || code === other.code) {
      const original = example.original.slice(0, originalCharsMax);
      groups.set(key, { code, reason, example: { ...example, original }, count });
    } else add(other.code, other.reason, example, count);
  };
  return {
    add,
    addGroup: ({ code, reason, example, count }) => add(code, reason, example, count),
    list: () => [...groups.values()].toSorted((a, b) => b.count - a.count),
  };
}

/** Returns a reason without the value that came, which differs between records. The kind of a value stays: "nothing" is not "a text". */
function kindOf(reason: string): string {
  const at = reason.search(/,? got(?:: | (?!nothing$|an? ))/);
  return at < 0 ? reason : reason.slice(0, at);
}
