import type { ReaderMemory } from './reader-memory.ts';
import type { UnusualValue } from '../../wire/contract/unusual-values.ts';
import type { JsonObject } from '../../base/json.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import type { FoundNote, NoteCode } from './record-notes.ts';
import type { RecordMap } from './record-map.ts';

/**
 * How records of another tool become events. A format is code plus a table of names; the table is data that a user can print,
 * edit and pass back.
 */
export interface Format {
  /** Stable name, kebab-case: `mixpanel`. */
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  /** What the source calls the export, where to get it. */
  readonly source: string;
  readonly options: readonly FormatOption[];
  /** What its rules about times, ids, links and counts rest on. */
  readonly evidence: Evidence;
  /** Where the time of a record stands, for the rules for odd times; left out: those that need it cannot be chosen. */
  readonly times?: RecordTimes;
  /** Names as they are translated by default. */
  readonly names: NameTable;
  /** Records as the source writes them, and what becomes of them; run by the tests and shown in the docs. */
  readonly example: {
    readonly options: FormatOptions;
    readonly records: readonly unknown[];
    readonly events: readonly WireEvent[];
  };
  /** One reader per file or run; it may remember what it has seen, in `memory` alone. Throws FormatOptionsError. */
  readonly createReader: (options: FormatOptions, names: NameTable, memory?: ReaderMemory) => RecordReader;
}

/** Paths such as `properties.time`; the first at which something stands counts. */
export interface RecordTimes {
  readonly own: readonly string[];
  /** When the source received the event. */
  readonly received: readonly string[];
}

export interface FormatOption {
  readonly key: string;
  readonly description: string;
  readonly default?: string;
  readonly choices?: readonly string[];
  /** Of an option that is JSON: its JSON Schema, for whoever shows a form. */
  readonly schema?: JsonObject;
}
export type FormatOptions = Readonly<Record<string, string>>;

/** Source name → name in the event. Null: left out. What is not listed keeps its name. */
export interface NameTable {
  readonly events: Readonly<Record<string, string | null>>;
  readonly properties: Readonly<Record<string, string | null>>;
  readonly person_properties: Readonly<Record<string, string | null>>;
}

export interface RecordReader {
  (record: unknown): RecordResult;
  /** The map by which it reads, for the converter of the check; left out: there is none, and all records are read one by one. */
  readonly map?: RecordMap;
}

export type RecordResult =
  /** In the order in which they belong, e.g. `$identify` before the event that made it known. Empty: nothing to import, on purpose. */
  | {
      readonly kind: 'events';
      readonly events: readonly WireEvent[];
      readonly chosen?: Chosen;
      readonly unusual?: FoundValues;
      readonly notes?: readonly FoundNote[];
    }
  /** Left out on purpose; counted by reason. */
  | {
      readonly kind: 'skipped';
      readonly reason: string;
      readonly chosen?: Chosen;
      readonly unusual?: FoundValues;
      readonly notes?: readonly FoundNote[];
    }
  /** One sentence: what was expected and what came. */
  | {
      readonly kind: 'unreadable';
      readonly reason: string;
      readonly unusual?: FoundValues;
      readonly notes?: readonly FoundNote[];
    };

/** Odd values that rules of the choice (src/imports/choosing) were applied to. */
export type FoundValues = readonly FoundValue[];
export interface FoundValue {
  readonly of: UnusualValue;
  readonly value: string;
}

/** What a choice (src/imports/choosing) made of the events of a record. */
export interface Chosen {
  /** Events before the choice. */
  readonly read: number;
  /** Why, for each that was left out. */
  readonly leftOut: readonly string[];
}

/** An option is missing or wrong; the message says which and what it may be. */
export class FormatOptionsError extends Error {
  override name = 'FormatOptionsError';
}

/**
 * The rules of a format that decide about numbers and people, and what each of them rests on.
 *
 * - `times`: which time an event gets
 * - `zone`: zone and unit of it
 * - `ids`: what the uuid follows from
 * - `links`: who is the person, and which ids become one
 * - `counts`: what is repeated, skipped or missing
 */
export const evidenceKinds = ['times', 'zone', 'ids', 'links', 'counts'] as const;
export type EvidenceKind = (typeof evidenceKinds)[number];

export type Evidence = Readonly<Record<EvidenceKind, EvidencedRule>>;

export type EvidencedRule = { readonly rule: string } & (
  | {
      /** Pages of the vendor, or files of its repository. */
      readonly sources: readonly [string, ...string[]];
      /** Where the vendor leaves two ways: the option that decides. */
      readonly option?: string;
    }
  /** No statement by the vendor: an option decides, and the check warns where nothing was given. */
  | { readonly option: string; readonly note: NoteCode }
  /** No statement by the vendor, and no choice either: why nothing can get lost or be counted twice by it. */
  | { readonly because: string }
);
