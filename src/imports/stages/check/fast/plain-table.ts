import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import type { Names } from '../../../formats/names.ts';
import type { IdCounter } from '../../../formats/occurrences.ts';
import type { Zone } from '../../../formats/times.ts';

/**
 * What the map of a format says of usual records, in the terms of the machine, to which `plain-of-map.ts` brings it: each step asks by
 * the values of members, and undefined leaves a record to the other executor. Members are named by paths: `event` is a member of the
 * record, `properties.time` one of an object in it.
 */
export interface PlainTable {
  /** What events say in `$import_source`; undefined: they do not say it. */
  readonly source: string | undefined;
  /** Paths of what names the event; the first is what it is called in the source. */
  readonly event: readonly string[];
  /** Of their values. Null: the event is left out, which makes no difference to anything else. Undefined: odd. */
  readonly eventName: (values: readonly unknown[]) => string | null | undefined;
  readonly time: PlainTime;
  readonly ids: PlainIds;
  readonly uuid: PlainUuid;
  /** What becomes of the other members, in the order in which it stands in the properties. A property that comes twice is odd. */
  readonly properties: readonly PlainStep[];
  /** What says something of the person. A later one takes the place of what an earlier one says. */
  readonly person?: readonly PersonStep[];
  /** Members of the record that become nothing. Others of which the table does not speak are odd; `all`: none is. */
  readonly silent?: ReadonlySet<string> | 'all';
  /** Paths of objects that may also be a text of JSON, or an empty one. */
  readonly texts?: ReadonlySet<string>;
  /** Members of the record that are odd, though an object takes all of them. */
  readonly unusual?: ReadonlySet<string>;
  /** Devices, countries and pages stay as they are: normaliseProperties is not for this format. */
  readonly isSettled?: true;
  /** The writer's: what was said once is said by nobody again. Undefined: devices are not linked. */
  readonly identify: ((user: string, device: string, timestamp: string) => readonly WireEvent[]) | undefined;
}

/**
 * Texts are ISO 8601; numbers count seconds, milliseconds or microseconds, by their size. Anything else is odd.
 */
export type PlainTime = PlainTimeForm | PlainTimeRule;

export interface PlainTimeForm {
  readonly path: string;
  /** Of texts that do not say theirs. */
  readonly zone: Zone;
  /** Of numbers; undefined: they are odd. */
  readonly numbers: Zone | undefined;
  /** What numbers count, and texts of digits, too; all other texts are odd. */
  readonly unit?: PlainUnit;
  /** Texts of digits are numbers. */
  readonly areDigits?: true;
  /** Texts stay as they are: what would be written otherwise is odd. */
  readonly isKept?: true;
}

/** A time that follows from some members: ISO 8601 in UTC. The same values have the same answer; undefined: odd. */
export interface PlainTimeRule {
  readonly from: readonly string[];
  readonly read: (values: readonly unknown[]) => string | undefined;
}

export type PlainUnit = 's' | 'ms' | 'us';

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
  /** Properties that follow from the ids; they stand where the table says `ids`. */
  readonly properties: Readonly<Record<string, unknown>>;
}

/** A record without it is odd. */
export type PlainUuid =
  /** The UUID itself. */
  | { readonly path: string; readonly is: 'uuid' }
  /** A text that is not blank, of which a UUID of version 5 is made in this namespace. */
  | {
      readonly path: string;
      readonly is: 'name';
      readonly namespace: Uint8Array;
      /** The same text again has a UUID of its own, of the text and its number; undefined: it has the same UUID. */
      readonly occurrences?: IdCounter;
      /** Of records that have no such text; left out: they are odd. */
      readonly otherwise?: PlainContentUuid;
    }
  | PlainContentUuid
  /** The same of a text that is put together from these parts, in this order. */
  | {
      readonly is: 'parts';
      readonly namespace: Uint8Array;
      readonly parts: readonly PlainIdPart[];
      /** So many parts, the first ones, may be a UUID together, which is then that of the event; left out: none. */
      readonly mayBeUuid?: number;
    };

/** Made of the record itself, as canonicalJson writes it; the same record again has one of its own. */
export interface PlainContentUuid {
  readonly is: 'content';
  readonly namespace: Uint8Array;
  readonly occurrences: IdCounter;
}

/**
 * A text as it stands here; the id at a path, a text that is not blank, a whole number, or nothing; what follows from some members, where
 * undefined is odd; or the time of the event.
 */
export type PlainIdPart =
  | { readonly text: string }
  | { readonly from: readonly string[]; readonly make: (values: readonly unknown[]) => string | undefined }
  | 'time'
  /** `isNeeded`: a record without it is odd. */
  | { readonly path: string; readonly isNeeded?: true };

/** `ids`, `person` and `$set` stand for the properties of PlainIdentity, for what addPersonOfEvent adds, and for `person` alone. */
export type PlainStep = PlainList | PlainDerived | 'ids' | 'person' | '$set';

/** What becomes properties one after the other. */
export type PlainList = PlainBag | PlainMembers | PlainPairs;

/** An object whose members become properties. */
export interface PlainBag {
  /** Of the object; empty: the record itself. */
  readonly bag: string;
  /** Property of each member; null: none. Others keep their names. */
  readonly names: Names;
  /** Values that become nothing. */
  readonly nothing?: readonly unknown[];
  /** The object may also be a text of JSON. */
  readonly mayBeText?: true;
  /** A record without the object is odd. */
  readonly isNeeded?: true;
  /** Its members take the place of what stands before it under the same names. */
  readonly wins?: true;
  /** Of the record: paths of objects that are taken apart where they stand, `geo.city` as `geo_city`; other objects are odd. */
  readonly apart?: readonly string[];
  /** Objects stand whole, also those of which members are looked at. */
  readonly keepsObjects?: true;
}

/** A list of pairs `{"key": "plan", "value": {"string_value": "pro"}}`, as BigQuery has them, each a property. */
export interface PlainPairs {
  /** Path of the list. */
  readonly pairs: string;
  /** Property of each key; null: none. Others keep their names. */
  readonly names: Names;
  readonly nothing?: readonly unknown[];
  /** A record without the list is odd. */
  readonly isNeeded?: true;
}

export type PersonStep = (PlainList | PlainDerived) & {
  readonly into: '$set' | '$set_once';
  /** Which properties of an object are for this one; left out: all that no other one before it has taken. */
  readonly takes?: (name: string) => boolean;
};

/** Members that become properties one by one. */
export interface PlainMembers {
  /** Property ← path. */
  readonly members: Readonly<Record<string, string>>;
  readonly nothing?: readonly unknown[];
  /** Other values are odd, and so are texts that may be blank. */
  readonly areTexts?: true;
  /** A record that lacks one is odd. */
  readonly areNeeded?: true;
  /** Only of records in which the member at this path has this value; it names the event. */
  readonly only?: { readonly path: string; readonly is: string };
}

export interface PlainDerived {
  /** Paths of members; or names of properties, as the objects have given them. */
  readonly of: 'members' | 'properties';
  readonly from: readonly string[];
  /** The same values have the same answer; undefined: odd. */
  readonly make: (values: readonly unknown[]) => Readonly<Record<string, unknown>> | undefined;
  /** Many different values are to be expected. */
  readonly isVaried?: true;
}
