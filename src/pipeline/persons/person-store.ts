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
import { KeptBytes, type Saying } from './pending-changes.ts';
import { current, Person, personUuid } from './person.ts';
import { RecentIds } from './recent-ids.ts';
import { registersForm, type RegistersForm } from './registers-text.ts';
import { noChanges, type PropertyChanges } from './registers.ts';

/** Ids of one project, in two generations: what is asked for moves to the young one, what nobody asks for goes with the old. */
export class ProjectIds {
  readonly projectId: number;
  young = new Map<string, Person>();
  old = new Map<string, Person>();
  /** How many of the old were asked for, and are young again. */
  asked = 0;
  /** The last one that was found: most facts of an import come right after one of the same id. */
  #lastId: string | undefined;
  #last: Person | undefined;

  constructor(projectId: number) {
    this.projectId = projectId;
  }

  /** Undefined: not in memory. Costs one map look-up when the id was used lately. */
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

  /** A new generation: what is young is old, and what was old is returned. */
  rotate(): ReadonlyMap<string, Person> {
    const gone = this.old;
    this.old = this.young;
    this.young = new Map();
    this.asked = 0;
    this.#lastId = undefined;
    return gone;
  }

  #find(distinctId: string): Person | undefined {
    const found = this.young.get(distinctId);
    if (found !== undefined) return found.mergedInto === null ? found : current(found);
    const known = this.old.get(distinctId);
    if (known === undefined) return undefined;
    this.old.delete(distinctId);
    this.young.set(distinctId, known);
    this.asked++;
    return current(known);
  }
}

/** Of the memory for persons: bytes, as the setting has them by default. */
export const bytesMaxDefault = 402_653_184;
/** What an id takes in memory besides its characters, and a person besides its registers: bytes, as measured. */
const idBytes = 130;
const personBytes = 270;

/**
 * After so many new ids the old ones go, too, if fewer than one in `oldPerAsked` of them was asked for since the last time: where the
 * slots in front answer for everybody, persons only cost what V8 spends on marking them.
 */
const idsOfGeneration = 100_000;
const oldPerAsked = 50;

interface NewId {
  readonly projectId: number;
  readonly distinctId: string;
  readonly person: Person;
}

/**
 * Persons in memory, in front of the metadata store.
 *
 * One window at a time: `begin`, `want` every id that it needs, `load`, then look up and change synchronously, then
 * `takeChanges`. What a window changed stays in memory until `committed` says that it is stored, so a later window may
 * be computed before. After any failure `reset` forgets everything, and the store is the truth again.
 */
export class PersonStore {
  readonly #db: Queries;
  readonly #form: RegistersForm;
  readonly #bytesMax: () => number;
  /** What is in memory takes about so much. */
  #bytes = 0;
  /** In front of everything, by the bytes of the id. At most half of the memory. */
  readonly recent: RecentIds;
  #projects = new Map<number, ProjectIds>();
  #byUuid = new Map<string, Person>();
  #wanted = new Map<number, Set<string>>();
  /** Whose persons may merge, so that their ids have to be counted. */
  #merging = new Map<number, Set<string>>();
  #window = 0;
  #committed = 0;
  #changed: Person[] = [];
  /** Whose registers this window may have looked into. */
  #used: Person[] = [];
  /** The same of the window before: who is used again and again is not read from text each time. */
  #usedBefore: Person[] = [];
  /** What the registers of those take besides the text. */
  #openBytes = 0;
  /** Ids that came into memory since the last new generation. */
  #cameCount = 0;
  readonly #kept = new KeptBytes();
  #newIds: NewId[] = [];
  #merges: { readonly from: Person; readonly into: Person }[] = [];
  #consulted = new Set<Person>();

  /** `bytesMax`: memory for persons and their ids, bytes; more only for those that are not stored yet. */
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
    if (this.#isFull() || this.#isUnasked()) this.#rotate();
  }

  /** The ids of a project, for many look-ups in a row. */
  project(projectId: number): ProjectIds {
    let ids = this.#projects.get(projectId);
    if (ids === undefined) this.#projects.set(projectId, (ids = new ProjectIds(projectId)));
    return ids;
  }

  /** Announces that the window will ask for this id. */
  want(projectId: number, distinctId: string): void {
    if (this.project(projectId).get(distinctId) === undefined) addTo(this.#wanted, projectId, distinctId);
  }

  /** As `want`, of an id that a merge names: how many ids its person has decides whether it may have more. */
  wantForMerge(projectId: number, distinctId: string): void {
    this.want(projectId, distinctId);
    const isCounted = (this.find(projectId, distinctId)?.idCount ?? -1) >= 0;
    if (!isCounted) addTo(this.#merging, projectId, distinctId);
  }

  /** Whether `load` has anything to do. */
  get wantsAny(): boolean {
    return this.#wanted.size > 0 || this.#merging.size > 0;
  }

  /** Reads what was wanted and is not in memory. */
  async load(): Promise<void> {
    for (const [projectId, wanted] of this.#wanted) {
      const ids = this.project(projectId);
      for (const row of await loadPersons(this.#db, projectId, [...wanted])) {
        // Somebody known by another id, perhaps changed since: memory is ahead of the store.
        const known = this.#byUuid.get(row.uuid);
        this.#put(ids, row.distinct_id, known ?? this.#remember(personOf(row)));
      }
    }
    this.#wanted.clear();
    for (const [projectId, ids] of this.#merging) await this.#countIds(projectId, ids);
    this.#merging.clear();
  }

  /**
   * Of persons that were loaded since their ids last changed: only a merge changes them, and counts them before it does, so the store
   * knows them all.
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

  /** An event of this id at `micros`: makes the person if there is none; its created_at is its earliest event. */
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

  /** One more id for a person. */
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

  /** As `update`, of one thing that an event says of the person, in the bytes that came: [from, to) of `json`. */
  learn(person: Person, saying: Saying, micros: number, json: Buffer, from: number, to: number): void {
    this.#use(person);
    person.learn(this.#kept, saying, micros, json, from, to);
  }

  /** `from` becomes part of `into`, which the caller has given what it should have of it. */
  absorb(into: Person, from: Person): void {
    from.mergedInto = into;
    into.idCount = from.idCount >= 0 && into.idCount >= 0 ? into.idCount + from.idCount : -1;
    this.#use(into);
    this.#use(from);
    this.#merges.push({ from, into });
    this.#mark(from);
    this.#mark(into);
  }

  /** What the window changed, as rows of its own: later changes do not reach into it. */
  takeChanges(): PersonChanges {
    this.#settle();
    const merges: MergeRow[] = [];
    for (const { from, into } of this.#merges) {
      if (from.isStored) merges.push({ projectId: from.projectId, from: from.uuid, to: current(into).uuid });
    }
    const distinctIds: DistinctIdRow[] = this.#newIds.map(({ projectId, distinctId, person }) => ({
      project_id: projectId,
      distinct_id: distinctId,
      person_uuid: current(person).uuid,
      // Not of a person that has become part of another one before it was stored.
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
    this.#closeUnused();
    return { persons, sameCreation, distinctIds, merges };
  }

  /** Where others write the same persons: what happens next depends on what the person with this id is now. */
  consult(projectId: number, distinctId: string): void {
    const person = this.find(projectId, distinctId);
    if (person?.isStored === true) this.#consulted.add(person);
  }

  /** As takeChanges, with every stored person that was changed or consulted. */
  takeSharedChanges(): SharedPersonChanges {
    this.#settle();
    const seen = new Set([...this.#consulted, ...this.#changed.filter(({ isStored }) => isStored)]);
    this.#consulted = new Set();
    return { ...this.takeChanges(), seen: [...seen].map(toSeen) };
  }

  committed(window: number): void {
    this.#committed = window;
  }

  /** Forgets everything, also what is not stored: it will be computed again. */
  reset(): void {
    this.recent.clear();
    this.#bytes = 0;
    this.#cameCount = 0;
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

  /** Looks into what was learned. */
  #settle(): void {
    for (const person of this.#used) if (person.takeLearned()) this.#mark(person);
    this.#kept.clear();
  }

  #use(person: Person): void {
    if (person.usedIn === this.#window) return;
    person.usedIn = this.#window;
    this.#used.push(person);
  }

  /** Those of the window before that this one has not used are text alone from now on. */
  #closeUnused(): void {
    for (const person of this.#usedBefore) if (person.usedIn !== this.#window) person.close();
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
    this.#cameCount++;
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

  /** Whether it is time for a new generation: nearly all the memory is taken, and what was asked for lately makes a good part of it. */
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

  /** Whether a generation has come together, and hardly anybody of the one before was asked for meanwhile. */
  #isUnasked(): boolean {
    if (this.#cameCount < idsOfGeneration) return false;
    let asked = 0;
    let old = 0;
    for (const ids of this.#projects.values()) {
      asked += ids.asked;
      old += ids.asked + ids.old.size;
    }
    return asked * oldPerAsked <= old;
  }

  /** Lets go of what nobody asked for lately, except what is not stored yet. */
  #rotate(): void {
    this.recent.forgetPersons();
    this.#cameCount = 0;
    const kept = new Map<string, Person>();
    for (const person of this.#byUuid.values()) if (this.#isUnstored(person)) kept.set(person.uuid, person);
    for (const [projectId, ids] of this.#projects) {
      const gone = ids.rotate();
      for (const [id, person] of gone) if (this.#isUnstored(current(person))) ids.young.set(id, person);
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
