import type { WireEvent } from '../../contract/wire-event.ts';
import type { RecordReader, RecordResult } from './format.ts';
import type { Zone } from './times.ts';

/**
 * What a plain record of a format becomes, as data: from it the check converts records without making objects of them
 * (src/imports/stages/check/plain). It has to say exactly what the reader does; a record of which it does not say enough is odd, and
 * goes to the reader. Members are named by paths: `event` is a member of the record, `properties.time` one of an object in it.
 */
export interface PlainTable {
  readonly slug: string;
  /** Path of the name of the event, a text. */
  readonly event: string;
  /** Undefined: odd. */
  readonly eventName: (source: string) => string | undefined;
  readonly time: PlainTime;
  readonly ids: PlainIds;
  readonly uuid: PlainUuid;
  /** Objects whose members become properties, in the order in which they do. */
  readonly bags: readonly PlainBag[];
  /** Properties that follow from members, behind those of the bags, in this order. */
  readonly derived: readonly PlainDerived[];
  /** The writer's: what was said once is said by nobody again. Undefined: devices are not linked. */
  readonly identify: ((user: string, device: string, timestamp: string) => readonly WireEvent[]) | undefined;
}

/** Numbers count seconds or milliseconds, by their size; texts are ISO 8601. Anything else is odd. */
export interface PlainTime {
  readonly path: string;
  /** Of numbers, and of texts that do not say theirs. */
  readonly zone: Zone;
}

/** Whom an event belongs to. `values` are those of the members, undefined where there is none; the same ones have the same answer. */
export interface PlainIds {
  readonly paths: readonly string[];
  /** Undefined: odd. */
  readonly read: (values: readonly unknown[]) => PlainIdentity | undefined;
}

export interface PlainIdentity {
  readonly distinctId: string;
  /** To be linked; undefined: nothing is. */
  readonly link: { readonly user: string; readonly device: string } | undefined;
  /** Properties that follow from the ids: behind those of the bags and the derived ones that come first. */
  readonly properties: Readonly<Record<string, string>>;
}

/** A text that is not blank, of which the uuid is made; without one a record is odd. */
export interface PlainUuid {
  readonly path: string;
  /** Of the UUID of version 5. */
  readonly namespace: Uint8Array;
}

export interface PlainBag {
  /** Empty: the record itself. */
  readonly path: string;
  /** Property of each member; null: none. Others keep their names. */
  readonly names: ReadonlyMap<string, string | null>;
}

/** `ids` and `person` stand for the properties of PlainIdentity and for what addPersonOfEvent adds. */
export type PlainDerived =
  | 'ids'
  | 'person'
  | {
      /** Paths of members; or names of properties, as the bags have given them. */
      readonly of: 'members' | 'properties';
      readonly from: readonly string[];
      /** The same values have the same answer; undefined: odd. */
      readonly make: (values: readonly unknown[]) => Readonly<Record<string, unknown>> | undefined;
    };

/** A reader together with the table of what it does with plain records. */
export function withPlain(read: (record: unknown) => RecordResult, plain: PlainTable): RecordReader {
  return Object.assign((record: unknown) => read(record), { plain });
}
