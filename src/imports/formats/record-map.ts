import type { WireEvent } from '../../wire/contract/wire-event.ts';
import type { NoEvents } from './event-writer.ts';
import type { RecordResult } from './format.ts';
import type { Names } from './names.ts';
import type { IdCounter } from './occurrences.ts';
import type { Json, Properties } from './read-values.ts';
import type { FoundNote } from './record-notes.ts';
import type { Zone } from './times.ts';

/**
 * Declares how records of a format become events: names, ids, times, properties, and why a record gives no event. Two executors
 * follow it: `read-by-map.ts` for every record, and the converter in WebAssembly (`stages/check/fast`) for records of the
 * `usual` form.
 *
 * To declare a format: define the event name (`event`), its time (`time`), its person (`ids`), its uuid (`uuid`), the `order` in
 * which a record is checked, and the steps that turn its other members into `properties`. Records that are not exactly one event
 * go through the hooks `instead` and `reshape`; what no step can express is a `Derived` or a `Hook` among the steps. Start with
 * `mixpanel.ts`.
 *
 * A function with `from` reads only those members of the record and returns the same result for the same values: the converter
 * calls it with a record of these members alone and remembers the result. Paths lead into objects: `properties.time`.
 */
export interface RecordMap {
  /** Value of `$import_source`; `undefined` omits the marks of an import. */
  readonly source: string | undefined;
  /** Hook: the result of a record that is not an event, such as a profile; `undefined` for an event. */
  readonly instead?: (record: Json) => RecordResult | undefined;
  /**
   * Hook: converts the record, e.g. a warehouse row, to the form of the source's own export; `undefined` if it already has that
   * form.
   */
  readonly reshape?: (record: Json) => Json | undefined;
  readonly event: EventRule;
  readonly time: TimeRule;
  readonly ids: IdRule;
  readonly uuid: UuidRule;
  /** Checks in order: the first that fails gives the reason for no event. */
  readonly order: readonly Check[];
  /** Steps that write the other members, in the order of the properties. */
  readonly properties: readonly Step[];
  /** Steps that write person properties. */
  readonly person?: readonly PersonStep[];
  /** Links a device to its user before the event; omit it to never link. */
  readonly links?: (user: string, device: string, timestamp: string) => readonly WireEvent[];
  /** Hook: additional events of the record, before its own. */
  readonly additional?: Condition & { readonly events: (draft: Draft) => readonly WireEvent[] };
  /** Keeps links and additional events if the name table skips the event. */
  readonly keepsLinks?: true;
  /** Hook: changes the finished event, or returns why there is no event. */
  readonly finish?: (event: WireEvent) => WireEvent | NoEvents;
  /** Skips normaliseProperties: values stay as they are. */
  readonly isNormalised?: true;
  /** Without it, the converter handles no records. */
  readonly usual?: Usual;
}

/**
 * Describes the records that the converter handles: those of the source's own export, for which `instead` and `reshape` return
 * nothing.
 */
export interface Usual {
  /** Paths of required objects and lists. */
  readonly has?: readonly string[];
  /** Members that must be absent, even where a bag would accept them. */
  readonly lacks?: ReadonlySet<string>;
  /** Members that are dropped. Any other member unknown to the map makes a record unusual, unless this is `all`. */
  readonly ignores?: ReadonlySet<string> | 'all';
  /** Paths of objects that may also be JSON text or empty text. */
  readonly texts?: readonly string[];
  /** Texts that represent a missing value; `reshape` removes such members. */
  readonly nothing?: ReadonlySet<string>;
}

/** A record being converted to an event. Fields are empty until they are known. */
export interface Draft {
  /** The original record, and the record after `reshape`. */
  readonly given: Json;
  readonly record: Json;
  /** Data that a check keeps for the steps. */
  source: Json | undefined;
  /** The name in the source and the name of the event; null if the name table skips it. */
  name: string;
  event: string | null;
  timestamp: string;
  identity: Identity;
  uuid: string;
  properties: Properties;
  /** Properties written by the step `time`. */
  ofTime: Properties | undefined;
  set: Properties;
  setOnce: Properties;
  notes: readonly FoundNote[];
}

/** A value computed from some members. */
interface From<Value> {
  readonly from: readonly string[];
  readonly read: (record: Json) => Value;
}

/** The name of the event in the source. */
export interface EventRule extends From<string | NoEvents> {
  /** Returns the translated name; null if the name table skips it. */
  readonly named: (sourceName: string, record: Json) => string | null;
  /** Hook: results of events with these names; `undefined` treats them as ordinary events. */
  readonly verbs?: {
    readonly names: ReadonlySet<string>;
    readonly read: (draft: Draft) => RecordResult | undefined;
  };
}

/** Returns ISO 8601 in UTC; `undefined` if there is no valid time. */
export interface TimeRule extends From<string | undefined> {
  /** The usual form of the value. Without it, the converter calls `read`. */
  readonly form?: TimeForm;
  /** Returns another time if `read` finds none, or the reason for failing. */
  readonly otherwise: (draft: Draft) => string | NoEvents;
}

/** Texts are ISO 8601; numbers count seconds, milliseconds or microseconds, by their size. */
export interface TimeForm {
  readonly path: string;
  /** Zone of texts without one. */
  readonly zone: Zone;
  /** Zone of numbers; without it, numbers are not times. */
  readonly numbers?: Zone;
  /** Unit of numbers and digit texts; other texts are then not times. */
  readonly unit?: 's' | 'ms' | 'us';
  /** Reads digit texts as numbers. */
  readonly areDigits?: true;
  /** Keeps texts unchanged. */
  readonly isKept?: true;
}

/** The person of an event. */
export interface IdRule extends From<Identity | NoEvents> {
  /** Writes the properties of the step `ids`. */
  readonly add?: (properties: Properties, identity: Identity, record: Json) => void;
}

export interface Identity {
  /** `undefined` uses the event's uuid, which is unique. */
  readonly distinctId: string | undefined;
  /** The id is a placeholder: the event creates no person. */
  readonly isPlaceholderId?: boolean;
  readonly user?: string | undefined;
  readonly device?: string | undefined;
  /** The source itself did not link user and device. */
  readonly isUnlinked?: boolean;
}

export type UuidRule =
  /** The UUID at the path, in any spelling. */
  | { readonly is: 'uuid'; readonly path: string; readonly otherwise: MakeUuid }
  /** A UUIDv5 of an id in a namespace. */
  | {
      readonly is: 'name';
      readonly path: string;
      readonly namespace: Uint8Array;
      /** Reads the id. Texts that are not blank must be ids. By default `idOf`. */
      readonly idOf?: (value: unknown) => string | undefined;
      /** Gives a repeated id its own UUID, derived from id and number; by default it has the same UUID. */
      readonly occurrences?: IdCounter;
      /** Result of a record with a repeated id; by default an event. */
      readonly repeated?: NoEvents;
      readonly otherwise: ContentUuid | MakeUuid;
    }
  | ContentUuid
  /** A UUIDv5 of the text that these parts form, in order. */
  | {
      readonly is: 'parts';
      readonly namespace: Uint8Array;
      readonly parts: readonly IdPart[];
      /** If the first part is a UUID, it becomes the event's. */
      readonly mayBeUuid?: true;
      /** For records that lack a part. */
      readonly otherwise: MakeUuid;
    };

export type MakeUuid = (draft: Draft) => string | NoEvents;

/** Derived from the record itself; an identical record gets its own UUID. */
export interface ContentUuid {
  readonly is: 'content';
  readonly namespace: Uint8Array;
  readonly occurrences: IdCounter;
  /** By default canonicalJson. */
  readonly textOf?: (record: Json) => string;
  /** Result of a repeated record; by default an event. */
  readonly repeated?: NoEvents;
}

export type IdPart =
  | { readonly text: string }
  /** An id, or empty. */
  | { readonly path: string; readonly isNeeded?: true }
  /** `pieces`: the texts and paths of ids of which it consists. */
  | (From<string | undefined> & {
      readonly pieces?: readonly ({ readonly text: string } | { readonly path: string })[];
    })
  /** Values of the event: its name in the source, its distinct_id, its time. */
  | 'name'
  | 'distinct_id'
  | 'time';

/**
 * `event`, `time`, `ids` and `uuid` are the rules of the map; `names` is the name table, which may skip an event; `verbs` are
 * those of the event rule. A uuid that is not in the order is created after all checks.
 */
export type Check =
  | 'event'
  | 'time'
  | 'ids'
  | 'names'
  | 'verbs'
  | 'uuid'
  /** Any other check. */
  | From<NoEvents | undefined>
  /** Hook: a check, or the final result of a record; usual records pass. */
  | ((draft: Draft) => RecordResult | undefined);

/**
 * `ids` and `time` write what their rules add. `person` writes person properties from the event's properties and from the map,
 * `$set` only the latter.
 */
export type Step = Source | Hook | Rename | 'ids' | 'time' | 'person' | '$set';

/** The source of property values. */
export type Source = Bag | Members | Pairs | Derived;

export type PersonStep =
  | ((Source | Rename) & { readonly into: '$set' | '$set_once' })
  /** Splits names between `$set_once` and `$set`; `nothing`: values dropped in `$set_once`. */
  | (Bag & { readonly into: { readonly once: (name: string) => boolean; readonly nothing: readonly unknown[] } })
  | Hook;

/**
 * What happens if a name is already taken: the value replaces the other one, keeps the name it has in the record, is skipped, or
 * gets a prefix in front of that name.
 */
export type Taken = 'replaces' | 'keeps-own-name' | 'is-skipped' | { readonly prefix: string };

/** An object whose members become properties. */
export interface Bag {
  /** Path of the object; empty for the record itself. */
  readonly bag: string;
  /** Property name of each member; null drops it. Others keep their names. */
  readonly names: Names;
  /** Members that are never properties. */
  readonly without?: ReadonlySet<string>;
  /** Values that are dropped. */
  readonly nothing?: readonly unknown[];
  readonly taken: Taken;
  /** Number of object levels to flatten: `geo: {city}` becomes `geo_city`. */
  readonly levels?: number;
  /** Paths of objects that the converter flattens; other objects make a record unusual. */
  readonly apart?: readonly string[];
  /** The object may also be JSON text. */
  readonly mayBeText?: true;
  /** A value that is not an object becomes a property named like the member. */
  readonly mayBeValue?: true;
  /** Prefix of member names; the converter then handles no records. */
  readonly prefix?: string;
  /** Keeps objects whole, even if some of their members are read elsewhere. */
  readonly keepsObjects?: true;
  /** Hook: replaces the object; for usual records it is the object itself. */
  readonly view?: (value: unknown, draft: Draft) => unknown;
}

/** Members that become properties one by one. */
export interface Members {
  /** Property ← path. */
  readonly members: Readonly<Record<string, string>>;
  readonly nothing?: readonly unknown[];
  /** Selects the values to write; texts that are not blank must be among them. By default all values. */
  readonly takes?: (value: unknown) => boolean;
  /** Applies only to records whose member at this path, which names the event, has this value. */
  readonly only?: { readonly path: string; readonly is: string };
  /** Existing values other than null stay. */
  readonly fills?: true;
  /** Reads a value that may also be elsewhere than at its path. */
  readonly read?: (record: Json) => unknown;
  /** Hook: the value to use if the path has none. */
  readonly otherwise?: (record: Json) => unknown;
}

/** A list of pairs `{"key": "plan", "value": {"string_value": "pro"}}`, as in BigQuery; each becomes a property. */
export interface Pairs {
  /** Path of the list. */
  readonly pairs: string;
  /** Property name of each key; null drops it. Others keep their names. */
  readonly names: Names;
  readonly nothing?: readonly unknown[];
}

/** Properties derived from some members. */
export interface Derived {
  /** Whether `from` names members of the record or properties already written. */
  readonly of: 'members' | 'properties';
  readonly from: readonly string[];
  /** Must only read those properties that it adds itself. */
  readonly add: (found: Json, properties: Properties) => void;
  /** Many different values are expected. */
  readonly isVaried?: true;
  /** Whether a record with these additions is usual; by default it is. */
  readonly isUsual?: (added: Properties) => boolean;
}

/** Whether a hook applies; a record to which it applies is unusual. */
export interface Condition {
  readonly from: readonly string[];
  readonly isIdle: (record: Json) => boolean;
}

/** Code for what no other step can express. Returns true to skip all later steps. */
export interface Hook extends Condition {
  readonly run: (draft: Draft) => boolean | void;
}

/** Renames all properties written so far. */
export interface Rename {
  readonly renames: Names;
}
