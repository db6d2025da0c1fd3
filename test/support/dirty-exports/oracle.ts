import type { DeviceLink, DirtyRecord, Expected, ExpectedEvent, Join, Said } from './dirty-record.ts';

/** What an import of some records has to come to. Its memory grows with ids and devices, of events by a bit each. */
export interface Oracle {
  /** The next records are of another file. */
  startFile(): void;
  add(record: DirtyRecord): void;
  readonly totals: Readonly<Record<'records' | 'stored' | 'duplicates' | 'skipped' | 'rejected', number>>;
  /** All records were added. Of several events of one identity the earliest is stored, the first one of equal times. */
  end(): void;
  /** A device belongs to its first user by the time of the events. */
  persons(): readonly OraclePerson[];
}

export interface OraclePerson {
  readonly ids: readonly string[];
  /** Of the events that set it; undefined: none does. */
  readonly times: Times | undefined;
}

/** Ms since the epoch: what the properties `latest` and `initial_first` hold. */
interface Times {
  readonly latest: number;
  readonly first: number;
}

/** `onStored`: called with each event that is stored, once. */
export function createOracle(onStored: (event: ExpectedEvent) => void): Oracle {
  const totals = { records: 0, stored: 0, duplicates: 0, skipped: 0, rejected: 0 };
  const identities = createSeen();
  /** Of an identity that several records may have. */
  const earliest = new Map<string, ExpectedEvent>();
  const inFile = new Map<string, number>();
  const first = new Map<string, DeviceLink>();
  const ids = new Map<string, Times | undefined>();
  const last = new Map<string, string>();
  const joins: Join[] = [];
  const identityOf = ({ identity, isCounted = false }: ExpectedEvent): string => {
    if (!isCounted) return identity;
    const number = (inFile.get(identity) ?? 0) + 1;
    inFile.set(identity, number);
    return `${identity}\u0001${number}`;
  };
  const addEvent = (event: ExpectedEvent): void => {
    const identity = identityOf(event);
    const isNew = identities.isNew(identity);
    totals[isNew ? 'stored' : 'duplicates'] += 1;
    if (!isNumber(identity)) {
      if (event.ms < (earliest.get(identity)?.ms ?? Infinity)) earliest.set(identity, event);
    } else if (isNew) store(event);
  };
  const store = (event: ExpectedEvent): void => {
    if (event.isNobodys !== true) addPerson(event);
    onStored(event);
  };
  const addPerson = ({ distinctId, ms, setsTime = false }: ExpectedEvent): void => {
    const known = ids.get(distinctId);
    ids.set(distinctId, setsTime ? joined(known, { latest: ms, first: ms }) : known);
  };
  /** How many of them are new. */
  const addSaid = (says: readonly Said[]): number => {
    const changed = says.filter(({ thing, content }) => last.get(thing) !== content);
    for (const { thing, content, event } of changed) {
      last.set(thing, content);
      addPerson(event);
      totals.stored += 1;
      onStored(event);
    }
    return changed.length;
  };
  const addLinks = (expected: Expected): void => {
    if (expected.is === 'skipped' || expected.is === 'said') return;
    if (expected.join !== undefined) joins.push(expected.join);
    const link = expected.is === 'joined' ? undefined : expected.link;
    if (link !== undefined && link.ms < (first.get(link.device)?.ms ?? Infinity)) first.set(link.device, link);
  };
  return {
    totals,
    startFile: () => inFile.clear(),
    end: () => earliest.forEach(store),
    add: ({ expected }) => {
      totals.records += 1;
      addLinks(expected);
      const isNew = 'says' in expected && addSaid(expected.says ?? []) > 0;
      if (expected.is === 'stored') for (const each of [expected.event, ...(expected.others ?? [])]) addEvent(each);
      else if (expected.is === 'said') totals.skipped += isNew ? 0 : 1;
      else if (expected.is !== 'joined') totals[expected.is] += 1;
    },
    persons: () =>
      partition(ids.keys(), [...joins, ...[...first].map(([device, { user }]): Join => [device, user])]).map(
        (each) => ({
          ids: each,
          times: each.map((id) => ids.get(id)).reduce(joined, undefined),
        }),
      ),
  };
}

function joined(some: Times | undefined, others: Times | undefined): Times | undefined {
  if (some === undefined || others === undefined) return some ?? others;
  return { latest: Math.max(some.latest, others.latest), first: Math.min(some.first, others.first) };
}

/** The ids by persons, where each pair is one person. */
function partition(ids: Iterable<string>, pairs: readonly Join[]): readonly (readonly string[])[] {
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

/** Of one record, or of the very same one again. */
function isNumber(identity: string): boolean {
  return /^\d{1,9}$/.test(identity);
}

/** Numbers, which most identities are, take a bit each. */
function createSeen(): { isNew(identity: string): boolean } {
  let bits = new Uint32Array(1024);
  const others = new Set<string>();
  return {
    isNew: (identity) => {
      if (!isNumber(identity)) return others.size < others.add(identity).size;
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
