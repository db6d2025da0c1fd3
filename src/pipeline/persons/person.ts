import { derivedId } from '../../base/ids.ts';
import { PendingChanges, type KeptBytes, type PropertyOp } from './pending-changes.ts';
import { formatRegisters, parseRegisters, type RegistersForm } from './registers-text.ts';
import { applyChanges, type PropertyChanges, type Registers } from './registers.ts';

/** A person in memory, ahead of the store until the window that changed it is committed. */
export class Person {
  readonly projectId: number;
  readonly uuid: string;
  /** µs since the epoch. Only ever decreases, and a merge takes the smaller one: RecentIds relies on that. */
  createdAt: number;
  /** `createdAt` in the store, or in the changes of a window that commits before the current one; NaN for a new person. */
  storedCreatedAt: number;
  isIdentified: boolean;
  /** In the store, or in the changes of a window that commits before the current one. */
  isStored: boolean;
  /** Version at the time of loading; 0 for a new person. */
  readonly version: number;
  /** The id that a new person was created for; null for a loaded one. */
  readonly firstId: string | null;
  /** Number of ids; -1 for a loaded person whose ids were not counted: no window since has merged it. */
  idCount: number;
  /** The person that this one was merged into; ids that still point here mean that person. */
  mergedInto: Person | null = null;
  /** Number of the last window that changed it; 0: none since loading. */
  changedIn = 0;
  /** Number of the last window that may have parsed its registers. */
  usedIn = 0;
  /** Registers as last loaded or written. */
  #registersJson: string;
  /** Parsed only while windows use them: they take twice the memory of their text, in many small pieces. */
  #registers: Registers | null = null;
  #pending: PendingChanges | null = null;
  #hasChanged = false;

  constructor(fields: {
    readonly projectId: number;
    readonly uuid: string;
    readonly createdAt: number;
    readonly isIdentified: boolean;
    readonly isStored: boolean;
    readonly version: number;
    /** Absent: the person was loaded. */
    readonly firstId?: string;
    /** Parsed on first use. */
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
    return this.#applyPending();
  }

  /** Stages an operation with the value at [from, to) of `json`; it is applied when the registers are needed. `t` in µs. */
  stage(kept: KeptBytes, op: PropertyOp, t: number, json: Buffer, from: number, to: number): void {
    this.#pending ??= new PendingChanges();
    this.#pending.add(kept, op, t, json, from, to);
    if (this.#pending.isFull) this.#applyPending();
  }

  /** Applies staged operations. Returns whether a register has changed since the last call. */
  applyStaged(): boolean {
    if (this.#pending !== null) this.#applyPending();
    const hasChanged = this.#hasChanged;
    this.#hasChanged = false;
    return hasChanged;
  }

  #applyPending(): Registers {
    const registers = (this.#registers ??= parseRegisters(this.#registersJson));
    const pending = this.#pending;
    this.#pending = null;
    if (pending?.applyTo(registers) === true) this.#hasChanged = true;
    return registers;
  }

  /** Length of its registers as text, as last loaded or written. */
  get registersChars(): number {
    return this.#registersJson.length;
  }

  /** Formats its registers for storage. */
  writeRegisters(form: RegistersForm): string {
    if (this.#registers !== null) this.#registersJson = formatRegisters(this.#registers, form);
    return this.#registersJson;
  }

  /** Keeps its registers as text only. They have not changed since they were loaded or written. */
  compact(): void {
    this.#registers = null;
  }

  /** Returns whether a register changed. */
  apply(changes: PropertyChanges, t: number): boolean {
    return applyChanges(this.registers, changes, t);
  }
}

/** Follows merges to the current person. */
export function current(person: Person): Person {
  let found = person;
  while (found.mergedInto !== null) found = found.mergedInto;
  return found;
}

/** Derives a person's uuid from its first id, so that the same events create the same person again. */
export function personUuid(projectId: number, firstDistinctId: string): string {
  return derivedId('person', String(projectId), firstDistinctId);
}
