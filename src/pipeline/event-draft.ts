import { assert } from '../base/assert.ts';
import type { WarningOccurrence } from '../wire/contract/warnings.ts';
import type { Lane, RowsStored } from '../log/eventlog.ts';
import type { MergeRequest } from './persons/merge-persons.ts';
import type { PropertyChanges } from './persons/registers.ts';
import type { JsonObject } from '../base/json.ts';
import type { ChainEvent } from './transform/chain-event.ts';

/** Properties shared by the events of one record. */
export interface RecordContext {
  readonly lane: Lane;
  readonly seq: number;
  readonly projectId: number;
  /** Part of a spread project, see RecordHeader; 0: the first, or the only one. */
  readonly part: number;
  /** Arrival, ms since the epoch. */
  readonly receivedAt: number;
  /** Send time of the body according to the sender, ms since the epoch. */
  readonly sentAt: number | undefined;
  /** `$ip` for events without one; live lane only. */
  readonly ip: string | undefined;
  /** Set when the events already have their rows and only update persons, groups or both. */
  readonly rowsStored: RowsStored | undefined;
  /** Number of events with the same content in this record, by hash of the content. */
  readonly occurrences: Map<string, number>;
}

/** An event being processed, as an object: the path of events whose properties have to be read. */
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
  /** Time used in the identity, µs since the epoch; no step changes it. */
  readonly keyMicros: number;
  properties: JsonObject;
  /** JSON text of the properties until they are changed, so that they are stored as they were sent. */
  propertiesText: string | null;
  readonly warnings: WarningOccurrence[];
  /** Set while the event is in the project's transformations. */
  inChain: ChainEvent | null;
  /** Null: the event has no person ($process_person_profile is false). */
  person: PersonIntent | null;
  groups: GroupIntent | null;
}

/** What an event changes in persons. */
export interface PersonIntent {
  readonly merge: Pick<MergeRequest, 'otherId' | 'rule'> | null;
  readonly changes: PropertyChanges;
}

/** What an event changes in groups. */
export interface GroupIntent {
  /** Names of the group types in the event. */
  readonly typeNames: readonly string[];
  readonly update: { readonly typeName: string; readonly key: string; readonly set: JsonObject } | null;
}

/** Formats the properties for storage: as they were sent, unless they have been changed. */
export function formatProperties(draft: EventDraft): void {
  draft.propertiesText ??= JSON.stringify(draft.properties);
}

/** Returns the result of `formatProperties`. */
export function storedText({ propertiesText }: EventDraft): string {
  assert(propertiesText !== null, 'the properties to be formatted before they are stored');
  return propertiesText;
}
