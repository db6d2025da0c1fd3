import type { Lane, StoredRecord } from '../log/eventlog.ts';
import type { RowBatch } from '../stores/events/eventstore.ts';
import type { GroupChanges } from './persons/group-rows.ts';
import type { PersonChanges } from './persons/person-rows.ts';
import type { ChainChanges } from './transform/transform-chains.ts';
import type { WarningType } from '../wire/contract/warnings.ts';
import type { StorageChanges } from '../plugins/services/storage-changes.ts';
import type { ProfileNote } from './profile-notes.ts';
import type { DeadLetterRow } from './dead-letters.ts';
import type { Sightings } from './live/watch.ts';
import type { Delivery } from '../queue/jobs/deliveries.ts';
import type { WarningCount } from './warning-tally.ts';

/** What to do with one event when not all of a range shall be processed: see poison-search.ts. */
export type Selection = (seq: number, index: number) => 'process' | 'skip' | 'poison';

export interface WindowInput {
  /** Counts up; tells which changes in memory are committed. */
  readonly number: number;
  readonly lane: Lane;
  /** Records after this seq … */
  readonly from: number;
  /** … in order. */
  readonly records: readonly StoredRecord[];
  /** The range ends exactly here, however large it is; absent: when the window is full. */
  readonly exactEnd?: number;
  readonly selection?: Selection;
  /** Transformations that have to be waited for end the window after so long; absent: they do not. */
  readonly waitedMsMax?: number;
  /** Rows to insert at once at most; absent: all of them. */
  readonly rowsMax?: number;
}

/** A range of the log, computed: what to insert, and what to commit with the cursor. */
export interface Window {
  readonly number: number;
  readonly lane: Lane;
  readonly from: number;
  /** Last seq of the range. */
  readonly to: number;
  /** Names the content of `rows`, the same at every retry of the range. */
  readonly token: string;
  readonly rows: RowBatch;
  /** Rows to be inserted before `rows`, in order: empty unless `rowsMax` cuts them. */
  readonly earlierRows: readonly RowBatch[];
  readonly persons: PersonChanges;
  readonly groups: GroupChanges;
  /** What is to be done to persons and groups that other slots change, too. */
  readonly notes: readonly ProfileNote[];
  readonly chains: ChainChanges;
  /** What plugins keep. */
  readonly storage: StorageChanges;
  /** Events for plugins that want to be told. */
  readonly observed: readonly Delivery[];
  readonly warnings: readonly WarningCount[];
  readonly deadLetters: readonly DeadLetterRow[];
  /** For readers of the live stream, once all of this is stored. */
  readonly live: Sightings;
  readonly counts: WindowCounts;
  /** Arrival of the oldest event in it, ms since the epoch; undefined for damaged records only. */
  readonly oldestReceivedAt: number | undefined;
}

export interface WindowCounts {
  events: number;
  bodyBytes: number;
  stored: number;
  /** By reason. */
  readonly dropped: Map<WarningType, number>;
  readonly dead: Map<WarningType, number>;
}
