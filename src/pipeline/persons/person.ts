import { derivedId } from '../../base/ids.ts';
import { PendingChanges, type KeptBytes, type Saying } from './pending-changes.ts';
import { formatRegisters, parseRegisters, type RegistersForm } from './registers-text.ts';
import { applyChanges, type PropertyChanges, type Registers } from './registers.ts';

/** A person in memory, ahead of the store until the window that changed it is committed. */
export class Person {
  readonly projectId: number;
  readonly uuid: string;
  /** µs since the epoch. Only ever falls, and that of a merge is the smaller one: RecentIds relies on it. */
  createdAt: number;
  /** `createdAt` in the store, or in the changes of a window that commits before the present one; of a new one nothing. */
  storedCreatedAt: number;
  isIdentified: boolean;
  /** In the store, or in the changes of a window that commits before the present one. */
  isStored: boolean;
  /** As it was loaded, see person-rows.ts; 0 of a new one. */
  readonly version: number;
  /** The id that it was made for; null of one that was loaded. */
  readonly firstId: string | null;
  /** How many ids it has; -1 of a loaded one whose ids were not counted: no window since has merged it. */
  idCount: number;
  /** Set once this person has become part of another; ids that still point here mean that one. */
  mergedInto: Person | null = null;
  /** Number of the last window that changed it; 0: none since it was loaded. */
  changedIn = 0;
  /** Number of the last window that may have looked into its registers. */
  usedIn = 0;
  /** Registers as they were last loaded or written. */
  #registersJson: string;
  /** Only while windows look into them: they take twice as much memory as their text, in many small pieces. */
  #registers: Registers | null = null;
  #pending: PendingChanges | null = null;
  #hasLearned = false;

  constructor(fields: {
    readonly projectId: number;
    readonly uuid: string;
    readonly createdAt: number;
    readonly isIdentified: boolean;
    readonly isStored: boolean;
    readonly version: number;
    /** Absent: it was loaded. */
    readonly firstId?: string;
    /** Read only when somebody needs them. */
    readonly registersJson: string;
  }) {
    this.projectId = fields.projectId;
    this.uuid = fields.uuid;
    this.createdAt = fields.createdAt;
    this.storedCreatedAt = fields.isStored ? fields.createdAt : Number.NaN;
    this.isIdentified = fields.isIdentified;
    this.isStored = fields.isStored;
    this.version = fields.version;
    this.firstId = fields.firstId ?? null;
    this.idCount = fields.isStored ? -1 : 0;
    this.#registersJson = fields.registersJson;
  }

  get registers(): Registers {
    if (this.#registers !== null && this.#pending === null) return this.#registers;
    return this.#settle();
  }

  /** As `apply`, of what stands at [from, to) of `json`; looked into when somebody asks for the registers. `t` in µs. */
  learn(kept: KeptBytes, saying: Saying, t: number, json: Buffer, from: number, to: number): void {
    this.#pending ??= new PendingChanges();
    this.#pending.add(kept, saying, t, json, from, to);
    if (this.#pending.isFull) this.#settle();
  }

  /** Whether what it has learned since the last call has changed a register. */
  takeLearned(): boolean {
    if (this.#pending !== null) this.#settle();
    const hasLearned = this.#hasLearned;
    this.#hasLearned = false;
    return hasLearned;
  }

  #settle(): Registers {
    const registers = (this.#registers ??= parseRegisters(this.#registersJson));
    const pending = this.#pending;
    this.#pending = null;
    if (pending?.applyTo(registers) === true) this.#hasLearned = true;
    return registers;
  }

  /** Length of its registers as text, when they were last loaded or written. */
  get registersChars(): number {
    return this.#registersJson.length;
  }

  /** Its registers as they are to be stored. */
  writeRegisters(form: RegistersForm): string {
    if (this.#registers !== null) this.#registersJson = formatRegisters(this.#registers, form);
    return this.#registersJson;
  }

  /** Keeps its registers as text alone. They have not changed since they were loaded or written. */
  close(): void {
    this.#registers = null;
  }

  /** Returns whether a register changed. */
  apply(changes: PropertyChanges, t: number): boolean {
    return applyChanges(this.registers, changes, t);
  }
}

/** The person that an id means now. */
export function current(person: Person): Person {
  let found = person;
  while (found.mergedInto !== null) found = found.mergedInto;
  return found;
}

/** A person is named after the first id seen, so that the same events make the same person again. */
export function personUuid(projectId: number, firstDistinctId: string): string {
  return derivedId('person', String(projectId), firstDistinctId);
}
