import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import type { Names } from '../../../formats/names.ts';
import type { IdCounter } from '../../../formats/occurrences.ts';
import type { Zone } from '../../../formats/times.ts';

/**
 * Declares how the converter handles the usual records of a map; `plain-of-map.ts` derives it. Functions take the values of members, and
 * `undefined` as their result leaves the record to the reader. Members are named by paths: `event`, `properties.time`.
 */
export interface PlainTable {
  /** Value of `$import_source`; `undefined` omits it. */
  readonly source: string | undefined;
  /** Paths of the members that name the event; the first is its name in the source. */
  readonly event: readonly string[];
  /** Returns the name; null if the event is skipped. */
  readonly eventName: (values: readonly unknown[]) => string | null | undefined;
  readonly time: PlainTime;
  readonly ids: PlainIds;
  readonly uuid: PlainUuid;
  /** Steps in the order of the properties. A property that is written twice makes the record unusual. */
  readonly properties: readonly PlainStep[];
  /** Steps that write person properties; later ones replace earlier ones. */
  readonly person?: readonly PersonStep[];
  /** Members that are dropped. Any other unknown member makes a record unusual, unless this is `all`. */
  readonly ignores?: ReadonlySet<string> | 'all';
  /** Paths of objects that may also be JSON text or empty text. */
  readonly texts?: ReadonlySet<string>;
  /** Members that make a record unusual, even where a bag would accept them. */
  readonly unusual?: ReadonlySet<string>;
  /** Skips normaliseProperties. */
  readonly isNormalised?: true;
  /** Links a device to its user; `undefined` never links. */
  readonly identify: ((user: string, device: string, timestamp: string) => readonly WireEvent[]) | undefined;
}

/** Texts are ISO 8601; numbers count seconds, milliseconds or microseconds, by their size. */
export type PlainTime = PlainTimeForm | PlainTimeRule;

export interface PlainTimeForm {
  readonly path: string;
  /** Zone of texts without one. */
  readonly zone: Zone;
  /** Zone of numbers; without it, numbers are not times. */
  readonly numbers: Zone | undefined;
  /** Unit of numbers and digit texts; other texts are then not times. */
  readonly unit?: PlainUnit;
  /** Reads digit texts as numbers. */
  readonly areDigits?: true;
  /** Keeps texts unchanged. */
  readonly isKept?: true;
}

/** A time that follows from some members: ISO 8601 in UTC. */
export interface PlainTimeRule {
  readonly from: readonly string[];
  readonly read: (values: readonly unknown[]) => string | undefined;
}

export type PlainUnit = 's' | 'ms' | 'us';

/** The person of an event. */
export interface PlainIds {
  readonly paths: readonly string[];
  readonly read: (values: readonly unknown[]) => PlainIdentity | undefined;
}

export interface PlainIdentity {
  readonly distinctId: string;
  /** Ids to link. */
  readonly link: { readonly user: string; readonly device: string } | undefined;
  /** Properties that follow from the ids, written by the step `ids`. */
  readonly properties: Readonly<Record<string, unknown>>;
}

export type PlainUuid =
  /** The UUID at the path. */
  | { readonly path: string; readonly is: 'uuid' }
  /** A UUIDv5 of a text that is not blank. */
  | {
      readonly path: string;
      readonly is: 'name';
      readonly namespace: Uint8Array;
      /** Gives a repeated text its own UUID; by default it has the same UUID. */
      readonly occurrences?: IdCounter;
      /** For records without such a text; by default they are unusual. */
      readonly otherwise?: PlainContentUuid;
    }
  | PlainContentUuid
  /** A UUIDv5 of the text that these parts form, in order. */
  | {
      readonly is: 'parts';
      readonly namespace: Uint8Array;
      readonly parts: readonly PlainIdPart[];
      /** Number of first parts that may together be a UUID, which is then that of the event. */
      readonly mayBeUuid?: number;
    };

/** Derived from the canonical JSON of the record; an identical record gets its own UUID. */
export interface PlainContentUuid {
  readonly is: 'content';
  readonly namespace: Uint8Array;
  readonly occurrences: IdCounter;
}

/**
 * A constant; a text derived from some members; the time of the event; or the id at a path: a text that is not blank, a whole number, or
 * nothing.
 */
export type PlainIdPart =
  | { readonly text: string }
  | { readonly from: readonly string[]; readonly make: (values: readonly unknown[]) => string | undefined }
  | 'time'
  /** `isNeeded` makes a record without it unusual. */
  | { readonly path: string; readonly isNeeded?: true };

/** `ids` writes the properties of PlainIdentity, `person` person properties of the event and the table, `$set` only the latter. */
export type PlainStep = PlainList | PlainDerived | 'ids' | 'person' | '$set';

/** Sources whose values become properties one by one. */
export type PlainList = PlainBag | PlainMembers | PlainPairs;

/** An object whose members become properties. */
export interface PlainBag {
  /** Path of the object; empty for the record itself. */
  readonly bag: string;
  /** Property name of each member; null drops it. Others keep their names. */
  readonly names: Names;
  /** Values that are dropped. */
  readonly nothing?: readonly unknown[];
  /** The object may also be JSON text. */
  readonly mayBeText?: true;
  /** Makes a record without the object unusual. */
  readonly isNeeded?: true;
  /** Its members override earlier ones with the same names. */
  readonly wins?: true;
  /** Paths of objects that are flattened, `geo.city` to `geo_city`; other objects make the record unusual. */
  readonly apart?: readonly string[];
  /** Keeps objects whole, even if some of their members are read. */
  readonly keepsObjects?: true;
}

/** A list of pairs `{"key": "plan", "value": {"string_value": "pro"}}`, as in BigQuery; each becomes a property. */
export interface PlainPairs {
  /** Path of the list. */
  readonly pairs: string;
  /** Property name of each key; null drops it. Others keep their names. */
  readonly names: Names;
  readonly nothing?: readonly unknown[];
  /** Makes a record without the list unusual. */
  readonly isNeeded?: true;
}

export type PersonStep = (PlainList | PlainDerived) & {
  readonly into: '$set' | '$set_once';
  /** Selects the properties of an object; by default all that no earlier step selects. */
  readonly takes?: (name: string) => boolean;
};

/** Members that become properties one by one. */
export interface PlainMembers {
  /** Property ← path. */
  readonly members: Readonly<Record<string, string>>;
  readonly nothing?: readonly unknown[];
  /** Values other than texts, and texts that may be blank, make a record unusual. */
  readonly areTexts?: true;
  /** A missing member makes a record unusual. */
  readonly areNeeded?: true;
  /** Applies only to records whose member at this path, which names the event, has this value. */
  readonly only?: { readonly path: string; readonly is: string };
}

export interface PlainDerived {
  /** Whether `from` contains paths of members or names of properties. */
  readonly of: 'members' | 'properties';
  readonly from: readonly string[];
  readonly make: (values: readonly unknown[]) => Readonly<Record<string, unknown>> | undefined;
  /** Many different values are expected. */
  readonly isVaried?: true;
}
