import type { WireEvent } from '../../wire/contract/wire-event.ts';
import type { NoEvents } from './event-writer.ts';
import type { RecordResult } from './format.ts';
import type { Names } from './names.ts';
import type { IdCounter } from './occurrences.ts';
import type { Json, Properties } from './read-values.ts';
import type { FoundNote } from './record-notes.ts';
import type { Zone } from './times.ts';

/**
 * What the records of a format become, declared once: names, ids, times, properties, and why a record gives no event. Two executors
 * follow it: `read-by-map.ts` for every record, and the converter in WebAssembly (`stages/check/fast`) for those of the `usual` form.
 *
 * To declare a format: say what names an event (`event`), when it was (`time`), who did it (`ids`), what makes its uuid (`uuid`), in
 * which `order` a record is checked, and with `properties` what its members become, one step after the other. Records that are something
 * else than one event go through the hooks `instead` and `reshape`; what no step can say is a `Derived` or a `Hook` among the steps.
 * `mixpanel.ts` is one to read first.
 *
 * A function that comes with `from` reads those members of the record and no others, and gives the same answer for the same values: the
 * converter calls it with a record of these members alone, and remembers the answer. Paths lead into objects: `properties.time`.
 */
export interface RecordMap {
  /** What events say in `$import_source`; undefined: they carry no marks of an import. */
  readonly source: string | undefined;
  /** Hook: all that becomes of a record that is no event, such as a profile; undefined: it is one. */
  readonly instead?: (record: Json) => RecordResult | undefined;
  /** Hook: the record as the source's own export has it, of a row of a warehouse for example; undefined: it is one already. */
  readonly reshape?: (record: Json) => Json | undefined;
  readonly event: EventRule;
  readonly time: TimeRule;
  readonly ids: IdRule;
  readonly uuid: UuidRule;
  /** What a record is checked for, in this order: the first that fails says why there is no event. */
  readonly order: readonly Check[];
  /** What becomes of the other members, in the order in which it stands in the properties. */
  readonly properties: readonly Step[];
  /** What is said of the person. */
  readonly person?: readonly PersonStep[];
  /** Devices are linked to their users by it, before the event; left out: they are not. */
  readonly links?: (user: string, device: string, timestamp: string) => readonly WireEvent[];
  /** Hook: other events that the record gives, before its own. */
  readonly beside?: Condition & { readonly events: (draft: Draft) => readonly WireEvent[] };
  /** Links and events beside it stay of an event that the table of names skips. */
  readonly keepsLinks?: true;
  /** Hook: the finished event, or why there is none. */
  readonly finish?: (event: WireEvent) => WireEvent | NoEvents;
  /** Values stay as they are: settleProperties is not for this format. */
  readonly isSettled?: true;
  /** Left out: the converter takes no record. */
  readonly usual?: Usual;
}

/** What a record of the source's own export looks like, of which `instead` and `reshape` make nothing: the converter takes no other. */
export interface Usual {
  /** Paths of the objects and lists that it has. */
  readonly has?: readonly string[];
  /** Members that it lacks, though an object takes all of them. */
  readonly lacks?: ReadonlySet<string>;
  /** Members that become nothing. One of which the map does not speak makes a record unusual; `all`: none does. */
  readonly ignores?: ReadonlySet<string> | 'all';
  /** Paths of objects that may also be a text of JSON, or an empty one. */
  readonly texts?: readonly string[];
  /** Texts that stand for no value where a member of the record is one, which `reshape` then takes away. */
  readonly nothing?: ReadonlySet<string>;
}

/** A record on its way to an event. What is not yet known is empty. */
export interface Draft {
  /** As it came, and as `reshape` has it. */
  readonly given: Json;
  readonly record: Json;
  /** What a check keeps of the record for the steps. */
  source: Json | undefined;
  /** As the source calls the event, and as it is called here; null: the table of names skips it. */
  name: string;
  event: string | null;
  timestamp: string;
  identity: Identity;
  uuid: string;
  properties: Properties;
  /** What stands in the properties where the map says `time`. */
  ofTime: Properties | undefined;
  set: Properties;
  setOnce: Properties;
  notes: readonly FoundNote[];
}

/** The value of some members. */
interface From<Value> {
  readonly from: readonly string[];
  readonly read: (record: Json) => Value;
}

/** The name that the source gives the event. */
export interface EventRule extends From<string | NoEvents> {
  /** Here; null: the table of names skips it. */
  readonly named: (sourceName: string, record: Json) => string | null;
  /** Hook: all that becomes of events of these names; undefined: they are events like others. */
  readonly verbs?: {
    readonly names: ReadonlySet<string>;
    readonly read: (draft: Draft) => RecordResult | undefined;
  };
}

/** ISO 8601 in UTC; undefined: what stands there is no time. */
export interface TimeRule extends From<string | undefined> {
  /** What most values look like. Left out: the converter asks `read`. */
  readonly form?: TimeForm;
  /** Where `read` finds no time: another one, or why there is none. */
  readonly otherwise: (draft: Draft) => string | NoEvents;
}

/** Texts are ISO 8601; numbers count seconds, milliseconds or microseconds, by their size. */
export interface TimeForm {
  readonly path: string;
  /** Of texts that do not say theirs. */
  readonly zone: Zone;
  /** Of numbers; left out: they are no times. */
  readonly numbers?: Zone;
  /** What numbers count, and texts of digits, too; all other texts are no times. */
  readonly unit?: 's' | 'ms' | 'us';
  /** Texts of digits are numbers. */
  readonly areDigits?: true;
  /** Texts stay as they are. */
  readonly isKept?: true;
}

/** Whom an event belongs to. */
export interface IdRule extends From<Identity | NoEvents> {
  /** Adds what stands in the properties where the map says `ids`. */
  readonly add?: (properties: Properties, identity: Identity, record: Json) => void;
}

export interface Identity {
  /** Undefined: the event's uuid, which nothing else has. */
  readonly distinctId: string | undefined;
  /** The id means nobody: the event makes no person. */
  readonly isPlaceholderId?: boolean;
  readonly user?: string | undefined;
  readonly device?: string | undefined;
  /** The source itself has not tied them together. */
  readonly isUnlinked?: boolean;
}

export type UuidRule =
  /** The UUID itself, in any spelling. */
  | { readonly is: 'uuid'; readonly path: string; readonly otherwise: MakeUuid }
  /** A UUID of version 5 in this namespace, of an id. */
  | {
      readonly is: 'name';
      readonly path: string;
      readonly namespace: Uint8Array;
      /** Texts that are not blank are ids in any case. Left out: `idOf`. */
      readonly idOf?: (value: unknown) => string | undefined;
      /** The same id again has a UUID of its own, of the id and its number; left out: it has the same UUID. */
      readonly occurrences?: IdCounter;
      /** What becomes of a record whose id came before; left out: an event. */
      readonly repeated?: NoEvents;
      readonly otherwise: ContentUuid | MakeUuid;
    }
  | ContentUuid
  /** The same of a text that is put together from these parts, in this order. */
  | {
      readonly is: 'parts';
      readonly namespace: Uint8Array;
      readonly parts: readonly IdPart[];
      /** The first part may be a UUID, which is then that of the event. */
      readonly mayBeUuid?: true;
      /** Of records that lack a part. */
      readonly otherwise: MakeUuid;
    };

export type MakeUuid = (draft: Draft) => string | NoEvents;

/** Made of the record itself; the same record again has one of its own. */
export interface ContentUuid {
  readonly is: 'content';
  readonly namespace: Uint8Array;
  readonly occurrences: IdCounter;
  /** Left out: canonicalJson. */
  readonly textOf?: (record: Json) => string;
  /** What becomes of a record that came before; left out: an event. */
  readonly repeated?: NoEvents;
}

export type IdPart =
  | { readonly text: string }
  /** An id, or nothing. */
  | { readonly path: string; readonly isNeeded?: true }
  /** `pieces`: texts and paths of ids that are all it is put together from. */
  | (From<string | undefined> & {
      readonly pieces?: readonly ({ readonly text: string } | { readonly path: string })[];
    })
  /** Of the event: its name in the source, whom it belongs to, and its time. */
  | 'name'
  | 'distinct_id'
  | 'time';

/**
 * `event`, `time`, `ids` and `uuid` are the rules of the map; `names` is the table of names, which may skip an event; `verbs` those of
 * the event rule. A uuid that is not in the order is made when nothing can fail any more.
 */
export type Check =
  | 'event'
  | 'time'
  | 'ids'
  | 'names'
  | 'verbs'
  | 'uuid'
  /** Anything else. */
  | From<NoEvents | undefined>
  /** Hook: the same, or all that becomes of a record; usual ones pass. */
  | ((draft: Draft) => RecordResult | undefined);

/**
 * `ids` and `time` stand for what their rules add; `person` for what an event says of the person by its properties together with what
 * the map says of it, `$set` for the latter alone.
 */
export type Step = Source | Hook | Rename | 'ids' | 'time' | 'person' | '$set';

/** Where a property has its value from. */
export type Source = Bag | Members | Pairs | Derived;

export type PersonStep =
  | ((Source | Rename) & { readonly into: '$set' | '$set_once' })
  /** Names that are for `$set_once`, and values that become nothing there; other names are for `$set`. */
  | (Bag & { readonly into: { readonly once: (name: string) => boolean; readonly nothing: readonly unknown[] } })
  | Hook;

/**
 * What happens to a value whose name is taken by another one: it takes its place; it keeps the name that it has in the record; it is
 * skipped; or it gets this in front of the name that it has in the record.
 */
export type Taken = 'replaces' | 'keeps-own-name' | 'is-skipped' | { readonly prefix: string };

/** An object whose members become properties. */
export interface Bag {
  /** Path of the object; empty: the record itself. */
  readonly bag: string;
  /** Property of each member; null: none. Others keep their names. */
  readonly names: Names;
  /** Members that are no properties, whatever stands there. */
  readonly without?: ReadonlySet<string>;
  /** Values that become nothing. */
  readonly nothing?: readonly unknown[];
  readonly taken: Taken;
  /** So many levels of objects are taken apart: `geo: {city}` as `geo_city`. */
  readonly levels?: number;
  /** Paths of those of them that the converter takes apart; other objects make a record unusual. */
  readonly apart?: readonly string[];
  /** The object may also be a text of JSON. */
  readonly mayBeText?: true;
  /** What is no object is a property itself, called like the member. */
  readonly mayBeValue?: true;
  /** In front of the names of its members; the converter takes no record then. */
  readonly prefix?: string;
  /** Objects stand whole, also those of which members are looked at. */
  readonly keepsObjects?: true;
  /** Hook: what stands for the object; for usual records the object itself. */
  readonly view?: (value: unknown, draft: Draft) => unknown;
}

/** Members that become properties one by one. */
export interface Members {
  /** Property ← path. */
  readonly members: Readonly<Record<string, string>>;
  readonly nothing?: readonly unknown[];
  /** Which values become something; texts that are not blank always do. Left out: all do. */
  readonly takes?: (value: unknown) => boolean;
  /** Only of records in which the member at this path has this value; it names the event. */
  readonly only?: { readonly path: string; readonly is: string };
  /** What stands there already stays, unless it is null. */
  readonly fills?: true;
  /** How a value is found, where it may also be somewhere else than at its path. */
  readonly read?: (record: Json) => unknown;
  /** Where there is none: hook for another value. */
  readonly otherwise?: (record: Json) => unknown;
}

/** A list of pairs `{"key": "plan", "value": {"string_value": "pro"}}`, as BigQuery has them, each a property. */
export interface Pairs {
  /** Path of the list. */
  readonly pairs: string;
  /** Property of each key; null: none. Others keep their names. */
  readonly names: Names;
  readonly nothing?: readonly unknown[];
}

/** Properties that follow from some members. */
export interface Derived {
  /** Members of the record; or names of properties that stand there already. */
  readonly of: 'members' | 'properties';
  readonly from: readonly string[];
  /** Of the properties it looks only at those that it adds itself. */
  readonly add: (found: Json, properties: Properties) => void;
  /** Many different values are to be expected. */
  readonly isVaried?: true;
  /** Left out: whatever it adds leaves a record usual. */
  readonly isUsual?: (added: Properties) => boolean;
}

/** Whether a hook has something to do; where it has, the record is unusual. */
export interface Condition {
  readonly from: readonly string[];
  readonly isIdle: (record: Json) => boolean;
}

/** Code for what no other step can say. True: no step after it is for this record. */
export interface Hook extends Condition {
  readonly run: (draft: Draft) => boolean | void;
}

/** Names for all that is there so far. */
export interface Rename {
  readonly renames: Names;
}
