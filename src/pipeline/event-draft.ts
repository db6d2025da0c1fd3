import { assert } from '../base/assert.ts';
import type { WarningOccurrence } from '../wire/contract/warnings.ts';
import type { Lane, RowsStored } from '../log/eventlog.ts';
import type { MergeRequest } from './persons/merge-persons.ts';
import type { PropertyChanges } from './persons/registers.ts';
import type { JsonObject } from '../base/json.ts';
import type { ChainEvent } from './transform/chain-event.ts';

/** What the events of one record share. */
export interface RecordContext {
  readonly lane: Lane;
  readonly seq: number;
  readonly projectId: number;
  /** Of a project that is spread, see RecordHeader; 0: the first, or the only one. */
  readonly part: number;
  /** Arrival, ms since the epoch. */
  readonly receivedAt: number;
  /** When the sender says that it sent the body, ms since the epoch. */
  readonly sentAt: number | undefined;
  /** `$ip` for events that bring none; live lane only. */
  readonly ip: string | undefined;
  /** The events have their rows already: only persons, groups or both learn from them. */
  readonly rowsStored: RowsStored | undefined;
  /** How often the same content has been seen in this record, by its hash. */
  readonly occurrences: Map<string, number>;
}

/** An event on its way, as an object: the path for everything that needs a look at the properties. */
export interface EventDraft {
  readonly kind: 'draft';
  readonly index: number;
  readonly projectId: number;
  /** Lower case. */
  uuid: string;
  event: string;
  distinctId: string;
  /** µs since the epoch. */
  micros: number;
  /** Time for the identity, µs since the epoch; no step changes it. */
  readonly keyMicros: number;
  properties: JsonObject;
  /** JSON text of the properties while nobody has changed them, so that what was sent is what is stored. */
  propertiesText: string | null;
  readonly warnings: WarningOccurrence[];
  /** While the event is with the project's transformations. */
  inChain: ChainEvent | null;
  /** Null: the event is nobody's ($process_person_profile is false). */
  person: PersonIntent | null;
  groups: GroupIntent | null;
}

/** What an event does to persons. */
export interface PersonIntent {
  readonly merge: Pick<MergeRequest, 'otherId' | 'rule'> | null;
  readonly changes: PropertyChanges;
}

/** What an event does to groups. */
export interface GroupIntent {
  /** Names of group types that it mentions. */
  readonly typeNames: readonly string[];
  readonly update: { readonly typeName: string; readonly key: string; readonly set: JsonObject } | null;
}

/** The properties as they are stored: as they were sent, unless somebody has changed them. */
export function formatProperties(draft: EventDraft): void {
  draft.propertiesText ??= JSON.stringify(draft.properties);
}

/** What `formatProperties` has made. */
export function storedText({ propertiesText }: EventDraft): string {
  assert(propertiesText !== null, 'the properties to be formatted before somebody takes them as stored');
  return propertiesText;
}
