import type { ReaderMemory } from './reader-memory.ts';
import type { UnusualValue } from '../../wire/contract/unusual-values.ts';
import type { JsonObject } from '../../base/json.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import type { FoundNote, NoteCode } from './record-notes.ts';
import type { RecordMap } from './record-map.ts';

/**
 * Converts records of another tool to events. A format is code plus a table of names; the table is data that a user can print,
 * edit and pass back.
 */
export interface Format {
  /** Stable name, kebab-case: `mixpanel`. */
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  /** The vendor's name for the export, and where to get it. */
  readonly source: string;
  readonly options: readonly FormatOption[];
  /** Sources of the rules for times, ids, links and counts. */
  readonly evidence: Evidence;
  /** Where records keep their times, for the rules for unusual times. Without it, rules that need a time cannot be chosen. */
  readonly times?: RecordTimes;
  /** The default name table. */
  readonly names: NameTable;
  /** Records as the source writes them and their events; run by the tests and shown in the docs. */
  readonly example: {
    readonly options: FormatOptions;
    readonly records: readonly unknown[];
    readonly events: readonly WireEvent[];
  };
  /** Creates a reader for a file or run. It keeps state in `memory` only. Throws FormatOptionsError. */
  readonly createReader: (options: FormatOptions, names: NameTable, memory?: ReaderMemory) => RecordReader;
}

/** Paths such as `properties.time`; the first with a value counts. */
export interface RecordTimes {
  readonly own: readonly string[];
  /** When the source received the event. */
  readonly received: readonly string[];
}

export interface FormatOption {
  readonly key: string;
  /** Name for forms. */
  readonly label: string;
  readonly description: string;
  readonly default?: string;
  readonly choices?: readonly string[];
  /** JSON Schema of an option that takes JSON, for forms. */
  readonly schema?: JsonObject;
}
export type FormatOptions = Readonly<Record<string, string>>;

/** Source name → name in the event. Null drops it. Unlisted names stay. */
export interface NameTable {
  readonly events: Readonly<Record<string, string | null>>;
  readonly properties: Readonly<Record<string, string | null>>;
  readonly person_properties: Readonly<Record<string, string | null>>;
}

export interface RecordReader {
  (record: unknown): RecordResult;
  /** The map that the reader follows, for the converter of the check. Without it, all records are read one by one. */
  readonly map?: RecordMap;
}

export type RecordResult =
  /** In order, e.g. `$identify` before the event that revealed it. Empty if there is nothing to import, intentionally. */
  | {
      readonly kind: 'events';
      readonly events: readonly WireEvent[];
      readonly chosen?: Chosen;
      readonly unusual?: FoundValues;
      readonly notes?: readonly FoundNote[];
    }
  /** Skipped intentionally; counted by reason. */
  | {
      readonly kind: 'skipped';
      readonly reason: string;
      readonly chosen?: Chosen;
      readonly unusual?: FoundValues;
      readonly notes?: readonly FoundNote[];
    }
  /** The reason is one sentence: what was expected and what came. */
  | {
      readonly kind: 'unreadable';
      readonly reason: string;
      readonly unusual?: FoundValues;
      readonly notes?: readonly FoundNote[];
    };

/** Unusual values to which rules of the choice (src/imports/choosing) were applied. */
export type FoundValues = readonly FoundValue[];
export interface FoundValue {
  readonly of: UnusualValue;
  readonly value: string;
}

/** The effect of a choice (src/imports/choosing) on the events of a record. */
export interface Chosen {
  /** Number of events before the choice. */
  readonly read: number;
  /** A reason for each excluded event. */
  readonly leftOut: readonly string[];
}

/** An option is missing or invalid; the message names it and the values it may have. */
export class FormatOptionsError extends Error {
  override name = 'FormatOptionsError';
}

/**
 * The rules of a format that decide about counts and persons, with their sources.
 *
 * - `times`: which time an event gets
 * - `zone`: the zone and unit of that time
 * - `ids`: what the uuid is derived from
 * - `links`: who the person is, and which ids are merged
 * - `counts`: what is repeated, skipped or missing
 */
export const evidenceKinds = ['times', 'zone', 'ids', 'links', 'counts'] as const;
export type EvidenceKind = (typeof evidenceKinds)[number];

export type Evidence = Readonly<Record<EvidenceKind, EvidencedRule>>;

export type EvidencedRule = { readonly rule: string } & (
  | {
      /** Pages of the vendor or files in its repository. */
      readonly sources: readonly [string, ...string[]];
      /** The option that decides where the vendor allows both. */
      readonly option?: string;
    }
  /** Not documented by the vendor: an option decides, and the check warns if it is not set. */
  | { readonly option: string; readonly note: NoteCode }
  /** Not documented and not configurable: why nothing can be lost or counted twice. */
  | { readonly because: string }
);
