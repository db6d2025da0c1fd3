import { derivedId } from '../base/ids.ts';
import { applyChanges, parseRegisters, type PropertyChanges, type Registers } from './registers.ts';

/** A person in memory, ahead of the store until the window that changed it is committed. */
export class Person {
  readonly projectId: number;
  readonly uuid: string;
  /** µs since the epoch. */
  createdAt: number;
  isIdentified: boolean;
  /** In the store, or in the changes of a window that commits before the present one. */
  isStored: boolean;
  /** As it was loaded, see person-rows.ts; 0 of a new one. */
  readonly version: number;
  /** Set once this person has become part of another; ids that still point here mean that one. */
  mergedInto: Person | null = null;
  /** Number of the last window that changed it; 0: none since it was loaded. */
  changedIn = 0;
  #registersJson: string;
  #registers: Registers | null = null;

  constructor(fields: {
    readonly projectId: number;
    readonly uuid: string;
    readonly createdAt: number;
    readonly isIdentified: boolean;
    readonly isStored: boolean;
    readonly version: number;
    /** Read only when somebody needs them. */
    readonly registersJson: string;
  }) {
    this.projectId = fields.projectId;
    this.uuid = fields.uuid;
    this.createdAt = fields.createdAt;
    this.isIdentified = fields.isIdentified;
    this.isStored = fields.isStored;
    this.version = fields.version;
    this.#registersJson = fields.registersJson;
  }

  get registers(): Registers {
    this.#registers ??= parseRegisters(this.#registersJson);
    return this.#registers;
  }

  /** Registers as stored, when nobody has read them into memory. */
  get untouchedRegisters(): string | null {
    return this.#registers === null ? this.#registersJson : null;
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
