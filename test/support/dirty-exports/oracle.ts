import type { DeviceLink, DirtyRecord, Expected, ExpectedEvent, Join } from './dirty-record.ts';

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
  const joins: Join[] = [];
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
  const addLinks = (expected: Expected): void => {
    if (expected.is === 'skipped') return;
    if (expected.join !== undefined) joins.push(expected.join);
    const link = expected.is === 'joined' ? undefined : expected.link;
    if (link !== undefined && link.ms < (first.get(link.device)?.ms ?? Infinity)) first.set(link.device, link);
  };
  return {
    totals,
    startFile: () => inFile.clear(),
    add: ({ expected }) => {
      totals.records += 1;
      addLinks(expected);
      if (expected.is === 'stored') for (const each of [expected.event, ...(expected.others ?? [])]) addEvent(each);
      else if (expected.is !== 'joined') totals[expected.is] += 1;
    },
    persons: () => partition(ids, [...joins, ...[...first].map(([device, { user }]): Join => [device, user])]),
  };
}

/** The ids by persons, where each pair is one person. */
function partition(ids: ReadonlySet<string>, pairs: readonly Join[]): readonly (readonly string[])[] {
  const parents = new Map<string, string>();
  const ownerOf = (id: string): string => {
    let owner = id;
    for (let next = parents.get(owner); next !== undefined; next = parents.get(owner)) owner = next;
    if (owner !== id) parents.set(id, owner);
    return owner;
  };
  for (const [id, other] of pairs) {
    const [one, two] = [ownerOf(id), ownerOf(other)];
    if (one !== two) parents.set(one, two);
  }
  const persons = new Map<string, string[]>();
  for (const id of new Set([...ids, ...pairs.flat()])) {
    const of = persons.get(ownerOf(id)) ?? [];
    persons.set(ownerOf(id), of);
    of.push(id);
  }
  return [...persons.values()];
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
