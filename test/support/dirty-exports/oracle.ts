import type { DeviceLink, DirtyRecord, ExpectedEvent } from './dirty-record.ts';

/** What an import of some records has to come to. Its memory grows with ids and devices, of events by a bit each. */
export interface Oracle {
  /** The next records are of another file. */
  startFile(): void;
  add(record: DirtyRecord): void;
  readonly totals: Readonly<Record<'records' | 'stored' | 'duplicates' | 'skipped' | 'rejected', number>>;
  /** The distinct ids of each person: a device belongs to its first user by the time of the events. */
  persons(): readonly (readonly string[])[];
}

/** `onStored`: called with each event that is stored, once. */
export function createOracle(onStored: (event: ExpectedEvent) => void): Oracle {
  const totals = { records: 0, stored: 0, duplicates: 0, skipped: 0, rejected: 0 };
  const identities = createSeen();
  const inFile = new Map<string, number>();
  const first = new Map<string, DeviceLink>();
  const ids = new Set<string>();
  const identityOf = ({ identity, isCounted = false }: ExpectedEvent): string => {
    if (!isCounted) return identity;
    const number = (inFile.get(identity) ?? 0) + 1;
    inFile.set(identity, number);
    return `${identity}\u0001${number}`;
  };
  const addEvent = (event: ExpectedEvent): void => {
    if (!identities.isNew(identityOf(event))) {
      totals.duplicates += 1;
      return;
    }
    if (event.isNobodys !== true) ids.add(event.distinctId);
    totals.stored += 1;
    onStored(event);
  };
  return {
    totals,
    startFile: () => inFile.clear(),
    add: ({ expected }) => {
      totals.records += 1;
      const link = expected.is === 'skipped' ? undefined : expected.link;
      if (link !== undefined && link.ms < (first.get(link.device)?.ms ?? Infinity)) first.set(link.device, link);
      if (expected.is === 'stored') for (const each of [expected.event, ...(expected.others ?? [])]) addEvent(each);
      else totals[expected.is] += 1;
    },
    persons: () => {
      const owner = (id: string): string => first.get(id)?.user ?? id;
      const persons = new Map<string, string[]>();
      for (const id of new Set([...ids, ...[...first].flatMap(([device, { user }]) => [device, user])])) {
        const of = persons.get(owner(id)) ?? [];
        persons.set(owner(id), of);
        of.push(id);
      }
      return [...persons.values()];
    },
  };
}

/** Numbers, which most identities are, take a bit each. */
function createSeen(): { isNew(identity: string): boolean } {
  let bits = new Uint32Array(1024);
  const others = new Set<string>();
  return {
    isNew: (identity) => {
      if (!/^\d{1,9}$/.test(identity)) return others.size < others.add(identity).size;
      const number = Number(identity);
      const word = number >>> 5;
      if (word >= bits.length) {
        const more = new Uint32Array(2 * word);
        more.set(bits);
        bits = more;
      }
      const before = bits[word] ?? 0;
      bits[word] = before | (1 << (number & 31));
      return bits[word] !== before;
    },
  };
}
