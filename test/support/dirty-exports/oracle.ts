import type { DeviceLink, DirtyRecord, Expected, ExpectedEvent, Join, Said } from './dirty-record.ts';

/** What an import of some records has to come to. Its memory grows with ids and devices, of events by a bit each. */
export interface Oracle {
  /** The next records are of another file. */
  startFile(): void;
  add(record: DirtyRecord): void;
  readonly totals: Readonly<Record<'records' | 'stored' | 'duplicates' | 'skipped' | 'rejected', number>>;
  /** All records were added. Of several events of one identity the first one of the source is stored. */
  end(): void;
  /** A device belongs to its first user by the time of the events. */
  persons(): readonly OraclePerson[];
  /** What was said last of each thing, by the time of the events. */
  groups(): ReadonlyMap<string, string>;
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
  const inFile = new Map<string, number>();
  const first = new Map<string, DeviceLink>();
  const ids = new Map<string, Times | undefined>();
  const said = createSaid(totals);
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
    if (isNew) store(event);
  };
  const store = (event: ExpectedEvent): void => {
    if (event.isNobodys !== true) addPerson(event);
    onStored(event);
  };
  const addPerson = ({ distinctId, ms, setsTime = false }: ExpectedEvent): void => {
    const known = ids.get(distinctId);
    ids.set(distinctId, setsTime ? joined(known, { latest: ms, first: ms }) : known);
  };
  const addLinks = (expected: Expected): void => {
    if (expected.is === 'skipped' || expected.is === 'said') return;
    if (expected.join !== undefined) joins.push(expected.join);
    const link = expected.is === 'joined' ? undefined : expected.link;
    if (link === undefined) return;
    // Who comes to a device of another user is a person, too, also where the event itself is rejected.
    if (!ids.has(link.user)) ids.set(link.user, undefined);
    if (link.ms < (first.get(link.device)?.ms ?? Infinity)) first.set(link.device, link);
  };
  return {
    totals,
    startFile: () => inFile.clear(),
    end: () => {
      for (const { event } of said.stored()) store(event);
    },
    add: ({ expected }) => {
      totals.records += 1;
      addLinks(expected);
      if ('says' in expected) said.add(expected.says ?? [], expected.is === 'said');
      if (expected.is === 'stored') for (const each of [expected.event, ...(expected.others ?? [])]) addEvent(each);
      else if (expected.is !== 'joined' && expected.is !== 'said') totals[expected.is] += 1;
    },
    groups: said.last,
    persons: () =>
      partition(ids.keys(), [...joins, ...[...first].map(([device, { user }]): Join => [device, user])]).map(
        (each) => ({
          ids: each,
          times: each.map((id) => ids.get(id)).reduce(joined, undefined),
        }),
      ),
  };
}

interface SaidOfThings {
  /** `isAlone`: the record has nothing else, and is skipped if its event is not stored. */
  add(says: readonly Said[], isAlone: boolean): void;
  stored(): Iterable<Said>;
  /** Content by thing. */
  last(): ReadonlyMap<string, string>;
}

function createSaid(totals: { stored: number; skipped: number }): SaidOfThings {
  /** By thing, content and day. */
  const said = new Map<string, Said & { readonly isAlone: boolean }>();
  return {
    add: (says, isAlone) => {
      for (const each of says) {
        const key = [each.thing, each.content, Math.floor(each.event.ms / 86_400_000)].join('\u0001');
        const known = said.get(key);
        const isLater = known === undefined || each.event.ms > known.event.ms;
        if (isLater ? known?.isAlone === true : isAlone) totals.skipped += 1;
        if (known === undefined) totals.stored += 1;
        if (isLater) said.set(key, { ...each, isAlone });
      }
    },
    stored: () => said.values(),
    last: () => {
      const last = new Map<string, Said>();
      for (const each of said.values()) {
        if (each.event.ms >= (last.get(each.thing)?.event.ms ?? -Infinity)) last.set(each.thing, each);
      }
      return new Map([...last].map(([thing, { content }]) => [thing, content]));
    },
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
