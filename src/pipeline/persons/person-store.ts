import type { Queries } from '../../stores/metadata/queries.ts';
import {
  countIds,
  loadPersons,
  type DistinctIdRow,
  type MergeRow,
  type PersonChanges,
  type PersonRow,
} from './person-rows.ts';
import type { SeenPerson, SharedPersonChanges } from './shared-person-rows.ts';
import { KeptBytes, type PropertyOp } from './pending-changes.ts';
import { current, Person, personUuid } from './person.ts';
import { RecentIds } from './recent-ids.ts';
import { registersForm, type RegistersForm } from './registers-text.ts';
import { noChanges, type PropertyChanges } from './registers.ts';

/** Cached ids of one project in two generations: a hit moves an id to the young one, unused ids are evicted with the old one. */
export class ProjectIds {
  readonly projectId: number;
  young = new Map<string, Person>();
  old = new Map<string, Person>();
  /** Number of old ids that were used and are young again. */
  promoted = 0;
  /** The last id found: most facts of an import directly follow one of the same id. */
  #lastId: string | undefined;
  #last: Person | undefined;

  constructor(projectId: number) {
    this.projectId = projectId;
  }

  /** Returns undefined if the id is not in memory. Costs one map look-up for a recently used id. */
  get(distinctId: string): Person | undefined {
    if (distinctId === this.#lastId && this.#last?.mergedInto === null) return this.#last;
    const found = this.#find(distinctId);
    this.#lastId = found && distinctId;
    this.#last = found;
    return found;
  }

  set(distinctId: string, person: Person): void {
    this.young.set(distinctId, person);
    this.#lastId = undefined;
  }

  /** Starts a new generation: young ids become old, and the old ones are returned. */
  rotate(): ReadonlyMap<string, Person> {
    const evicted = this.old;
    this.old = this.young;
    this.young = new Map();
    this.promoted = 0;
    this.#lastId = undefined;
    return evicted;
  }

  #find(distinctId: string): Person | undefined {
    const found = this.young.get(distinctId);
    if (found !== undefined) return found.mergedInto === null ? found : current(found);
    const known = this.old.get(distinctId);
    if (known === undefined) return undefined;
    this.old.delete(distinctId);
    this.young.set(distinctId, known);
    this.promoted++;
    return current(known);
  }
}

/** Memory for persons, bytes; the default of the setting. */
export const bytesMaxDefault = 402_653_184;
/** Measured memory of an id without its characters, and of a person without its registers, bytes. */
const idBytes = 130;
const personBytes = 270;

/**
 * After this many new ids the old generation is evicted as well if fewer than one in `oldPerPromoted` of its ids was used since the
 * last rotation: where the recent ids in front answer all look-ups, cached persons only cost garbage collection.
 */
const idsOfGeneration = 100_000;
const oldPerPromoted = 50;

interface NewId {
  readonly projectId: number;
  readonly distinctId: string;
  readonly person: Person;
}

/**
 * Caches persons in front of the metadata store.
 *
 * Each window calls `begin`, `want` for every id that it needs, `load`, then looks up and changes persons synchronously, then
 * calls `takeChanges`. Changes stay in memory until `committed` reports that they are stored, so that a later window can be
 * computed before. After any failure `reset` drops everything, and persons are loaded from the store again.
 */
export class PersonStore {
  readonly #db: Queries;
  readonly #form: RegistersForm;
  readonly #bytesMax: () => number;
  /** Approximate memory in use. */
  #bytes = 0;
  /** Consulted first, by the bytes of the id. Takes at most half of the memory. */
  readonly recent: RecentIds;
  #projects = new Map<number, ProjectIds>();
  #byUuid = new Map<string, Person>();
  #wanted = new Map<number, Set<string>>();
  /** Ids whose persons may merge, so that their ids have to be counted. */
  #merging = new Map<number, Set<string>>();
  #window = 0;
  #committed = 0;
  #changed: Person[] = [];
  /** Persons whose registers this window may have parsed. */
  #used: Person[] = [];
  /** The same for the previous window: persons in constant use are not parsed each time. */
  #usedBefore: Person[] = [];
  /** Memory of their parsed registers in addition to the text. */
  #openBytes = 0;
  /** Ids added since the last rotation. */
  #addedCount = 0;
  readonly #kept = new KeptBytes();
  #newIds: NewId[] = [];
  #merges: { readonly from: Person; readonly into: Person }[] = [];
  #consulted = new Set<Person>();

  /** @param bytesMax memory for persons and their ids, bytes; exceeded only by those that are not stored yet */
  constructor(db: Queries, bytesMax: () => number = () => bytesMaxDefault) {
    this.#db = db;
    this.#form = registersForm(db);
    this.#bytesMax = bytesMax;
    this.recent = new RecentIds(() => bytesMax() / 2);
  }

  begin(window: number): void {
    this.#window = window;
    this.#wanted.clear();
    this.#merging.clear();
    if (this.#isFull() || this.#isRarelyPromoted()) this.#rotate();
  }

  /** Returns the ids of a project, for many look-ups in sequence. */
  project(projectId: number): ProjectIds {
    let ids = this.#projects.get(projectId);
    if (ids === undefined) this.#projects.set(projectId, (ids = new ProjectIds(projectId)));
    return ids;
  }

  /** Announces that the window needs this id. */
  want(projectId: number, distinctId: string): void {
    if (this.project(projectId).get(distinctId) === undefined) addTo(this.#wanted, projectId, distinctId);
  }

  /** Announces an id of a merge: the number of ids of its person decides whether it may have more. */
  wantForMerge(projectId: number, distinctId: string): void {
    this.want(projectId, distinctId);
    const isCounted = (this.find(projectId, distinctId)?.idCount ?? -1) >= 0;
    if (!isCounted) addTo(this.#merging, projectId, distinctId);
  }

  /** Whether `load` has anything to do. */
  get wantsAny(): boolean {
    return this.#wanted.size > 0 || this.#merging.size > 0;
  }

  /** Loads wanted ids that are not in memory. */
  async load(): Promise<void> {
    for (const [projectId, wanted] of this.#wanted) {
      const ids = this.project(projectId);
      for (const row of await loadPersons(this.#db, projectId, [...wanted])) {
        // A person cached under another id, perhaps changed since: memory is ahead of the store.
        const known = this.#byUuid.get(row.uuid);
        this.#put(ids, row.distinct_id, known ?? this.#remember(personOf(row)));
      }
    }
    this.#wanted.clear();
    for (const [projectId, ids] of this.#merging) await this.#countIds(projectId, ids);
    this.#merging.clear();
  }

  /**
   * Counts the ids of persons that were loaded since their ids last changed. Only a merge changes ids, after counting them, so the store
   * contains all of them.
   */
  async #countIds(projectId: number, distinctIds: ReadonlySet<string>): Promise<void> {
    const uncounted = new Map<string, Person>();
    for (const distinctId of distinctIds) {
      const person = this.find(projectId, distinctId);
      if (person !== undefined && person.idCount < 0) uncounted.set(person.uuid, person);
    }
    for (const { uuid, count } of await countIds(this.#db, projectId, [...uncounted.keys()])) {
      const person = uncounted.get(uuid);
      if (person !== undefined) person.idCount = Number(count);
    }
  }

  find(projectId: number, distinctId: string): Person | undefined {
    return this.project(projectId).get(distinctId);
  }

  /** Records an event of this id at `micros` and creates the person if necessary; created_at is the time of its earliest event. */
  touch(projectId: number, distinctId: string, micros: number): Person {
    const known = this.find(projectId, distinctId);
    if (known === undefined) return this.create(projectId, distinctId, micros);
    if (micros < known.createdAt) this.lowerCreatedAt(known, micros);
    return known;
  }

  create(projectId: number, distinctId: string, micros: number): Person {
    const person = this.#remember(
      new Person({
        projectId,
        uuid: personUuid(projectId, distinctId),
        createdAt: micros,
        isIdentified: false,
        isStored: false,
        version: 0,
        firstId: distinctId,
        registersJson: '{}',
      }),
    );
    this.attach(person, distinctId);
    return person;
  }

  lowerCreatedAt(person: Person, micros: number): void {
    person.createdAt = micros;
    this.#mark(person);
  }

  /** Adds an id to a person. */
  attach(person: Person, distinctId: string): void {
    this.#put(this.project(person.projectId), distinctId, person);
    this.#newIds.push({ projectId: person.projectId, distinctId, person });
    if (person.idCount >= 0) person.idCount += 1;
    this.#mark(person);
  }

  identify(person: Person): void {
    if (person.isIdentified) return;
    person.isIdentified = true;
    this.#mark(person);
  }

  update(person: Person, changes: PropertyChanges, micros: number): void {
    if (changes === noChanges) return;
    this.#use(person);
    if (person.apply(changes, micros)) this.#mark(person);
  }

  /** Stages one property operation of an event as received: [from, to) of `json`. It is parsed when needed. */
  stage(person: Person, op: PropertyOp, micros: number, json: Buffer, from: number, to: number): void {
    this.#use(person);
    person.stage(this.#kept, op, micros, json, from, to);
  }

  /** Merges `from` into `into`, to which the caller has already copied what it keeps. */
  absorb(into: Person, from: Person): void {
    from.mergedInto = into;
    into.idCount = from.idCount >= 0 && into.idCount >= 0 ? into.idCount + from.idCount : -1;
    this.#use(into);
    this.#use(from);
    this.#merges.push({ from, into });
    this.#mark(from);
    this.#mark(into);
  }

  /** Takes the window's changes as separate rows, which later changes do not affect. */
  takeChanges(): PersonChanges {
    this.#applyStaged();
    const merges: MergeRow[] = [];
    for (const { from, into } of this.#merges) {
      if (from.isStored) merges.push({ projectId: from.projectId, from: from.uuid, to: current(into).uuid });
    }
    const distinctIds: DistinctIdRow[] = this.#newIds.map(({ projectId, distinctId, person }) => ({
      project_id: projectId,
      distinct_id: distinctId,
      person_uuid: current(person).uuid,
      // Unless the person was merged into another one before it was stored.
      is_first: distinctId === person.firstId && person.mergedInto === null ? 1 : null,
    }));
    const sameCreation = new Set<PersonRow>();
    const persons: PersonRow[] = [];
    for (const person of this.#changed) {
      if (person.mergedInto !== null) continue;
      const row = this.#toRow(person);
      persons.push(row);
      if (person.isStored && person.storedCreatedAt === person.createdAt) sameCreation.add(row);
      person.storedCreatedAt = person.createdAt;
    }
    for (const person of this.#changed) person.isStored = true;
    this.#changed = [];
    this.#newIds = [];
    this.#merges = [];
    this.#compactUnused();
    return { persons, sameCreation, distinctIds, merges };
  }

  /** Records, where other slots write the same persons, that a result depends on the current state of the id's person. */
  consult(projectId: number, distinctId: string): void {
    const person = this.find(projectId, distinctId);
    if (person?.isStored === true) this.#consulted.add(person);
  }

  /** Takes the changes together with every stored person that was changed or consulted. */
  takeSharedChanges(): SharedPersonChanges {
    this.#applyStaged();
    const seen = new Set([...this.#consulted, ...this.#changed.filter(({ isStored }) => isStored)]);
    this.#consulted = new Set();
    return { ...this.takeChanges(), seen: [...seen].map(toSeen) };
  }

  committed(window: number): void {
    this.#committed = window;
  }

  /** Drops everything, including unstored changes, which will be computed again. */
  reset(): void {
    this.recent.clear();
    this.#bytes = 0;
    this.#addedCount = 0;
    this.#projects = new Map();
    this.#byUuid = new Map();
    this.#wanted = new Map();
    this.#merging = new Map();
    this.#changed = [];
    this.#used = [];
    this.#usedBefore = [];
    this.#openBytes = 0;
    this.#kept.clear();
    this.#newIds = [];
    this.#merges = [];
    this.#consulted = new Set();
  }

  /** Parses and applies staged operations. */
  #applyStaged(): void {
    for (const person of this.#used) if (person.applyStaged()) this.#mark(person);
    this.#kept.clear();
  }

  #use(person: Person): void {
    if (person.usedIn === this.#window) return;
    person.usedIn = this.#window;
    this.#used.push(person);
  }

  /** Reduces persons of the previous window that this one has not used to their text. */
  #compactUnused(): void {
    for (const person of this.#usedBefore) if (person.usedIn !== this.#window) person.compact();
    this.#usedBefore = this.#used;
    this.#used = [];
    this.#openBytes = 0;
    for (const person of this.#usedBefore) this.#openBytes += 2 * person.registersChars;
  }

  #remember(person: Person): Person {
    this.#byUuid.set(person.uuid, person);
    this.#bytes += bytesOf(person);
    return person;
  }

  #put(ids: ProjectIds, distinctId: string, person: Person): void {
    ids.set(distinctId, person);
    this.#addedCount++;
    this.#bytes += idBytes + distinctId.length;
  }

  #toRow(person: Person): PersonRow {
    this.#bytes -= bytesOf(person);
    const row = toRow(person, this.#form);
    this.#bytes += bytesOf(person);
    return row;
  }

  #mark(person: Person): void {
    if (person.changedIn === this.#window) return;
    person.changedIn = this.#window;
    this.#changed.push(person);
  }

  /** Whether to start a new generation: nearly all memory is in use, and recently used ids take a large part of it. */
  #isFull(): boolean {
    const bytesMax = this.#bytesMax();
    const bytes = this.#bytes + this.#openBytes + this.recent.bytes;
    if (bytes <= (bytesMax * 2) / 3) return false;
    let young = 0;
    let old = 0;
    for (const ids of this.#projects.values()) {
      young += ids.young.size;
      old += ids.old.size;
    }
    return (bytes * young) / (young + old) > bytesMax / 3;
  }

  /** Whether a generation is complete and hardly any id of the previous one was used in the meantime. */
  #isRarelyPromoted(): boolean {
    if (this.#addedCount < idsOfGeneration) return false;
    let promoted = 0;
    let old = 0;
    for (const ids of this.#projects.values()) {
      promoted += ids.promoted;
      old += ids.promoted + ids.old.size;
    }
    return promoted * oldPerPromoted <= old;
  }

  /** Evicts ids that were not used recently, except unstored changes. */
  #rotate(): void {
    this.recent.forgetPersons();
    this.#addedCount = 0;
    const kept = new Map<string, Person>();
    for (const person of this.#byUuid.values()) if (this.#isUnstored(person)) kept.set(person.uuid, person);
    for (const [projectId, ids] of this.#projects) {
      const evicted = ids.rotate();
      for (const [id, person] of evicted) if (this.#isUnstored(current(person))) ids.young.set(id, person);
      for (const person of ids.old.values()) keepChain(kept, person);
      for (const person of ids.young.values()) keepChain(kept, person);
      if (ids.old.size + ids.young.size === 0) this.#projects.delete(projectId);
    }
    this.#byUuid = kept;
    this.#bytes = 0;
    for (const person of kept.values()) this.#bytes += bytesOf(person);
    for (const { old, young } of this.#projects.values()) {
      for (const id of old.keys()) this.#bytes += idBytes + id.length;
      for (const id of young.keys()) this.#bytes += idBytes + id.length;
    }
  }

  #isUnstored(person: Person): boolean {
    return person.changedIn > this.#committed;
  }
}

function addTo(ids: Map<number, Set<string>>, projectId: number, distinctId: string): void {
  const known = ids.get(projectId);
  if (known === undefined) ids.set(projectId, new Set([distinctId]));
  else known.add(distinctId);
}

function bytesOf({ registersChars }: Person): number {
  return personBytes + registersChars;
}

function keepChain(kept: Map<string, Person>, person: Person): void {
  let each: Person | null = person;
  while (each !== null) {
    kept.set(each.uuid, each);
    each = each.mergedInto;
  }
}

function personOf(row: Awaited<ReturnType<typeof loadPersons>>[number]): Person {
  return new Person({
    projectId: row.project_id,
    uuid: row.uuid,
    createdAt: row.created_at_micros,
    isIdentified: row.is_identified === 1,
    isStored: true,
    version: row.version,
    registersJson: row.registers,
  });
}

function toSeen({ projectId, uuid, version }: Person): SeenPerson {
  return { projectId, uuid, version };
}

function toRow(person: Person, form: RegistersForm): PersonRow {
  return {
    project_id: person.projectId,
    uuid: person.uuid,
    created_at_micros: person.createdAt,
    is_identified: person.isIdentified ? 1 : 0,
    registers: person.writeRegisters(form),
    first_id: person.isStored ? null : person.firstId,
  };
}
