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
import type { ViolationChanges } from './violation-tally.ts';
import type { WarningCount } from './warning-tally.ts';

/** Decides what to do with one event when only a part of a range is processed; see poison-search.ts. */
export type Selection = (seq: number, index: number) => 'process' | 'skip' | 'poison';

export interface WindowInput {
  /** Increases with every window; identifies which changes in memory are committed. */
  readonly number: number;
  readonly lane: Lane;
  /** Records after this seq … */
  readonly from: number;
  /** … in order. */
  readonly records: readonly StoredRecord[];
  /** Exact end of the range, however large it is; absent: it ends when the window is full. */
  readonly exactEnd?: number;
  readonly selection?: Selection;
  /** Time after which asynchronous transformations end the window; absent: they do not. */
  readonly waitedMsMax?: number;
  /** Maximum of rows per insert; absent: no limit. */
  readonly rowsMax?: number;
}

/** A range of the log, computed: what to insert, and what to commit with the cursor. */
export interface Window {
  readonly number: number;
  readonly lane: Lane;
  readonly from: number;
  /** Last seq of the range. */
  readonly to: number;
  /** Identifies the content of `rows`; the same at every retry of the range. */
  readonly token: string;
  readonly rows: RowBatch;
  /** Rows to insert before `rows`, in order: empty unless `rowsMax` limits them. */
  readonly earlierRows: readonly RowBatch[];
  readonly persons: PersonChanges;
  readonly groups: GroupChanges;
  /** Changes to persons and groups that other slots change as well. */
  readonly notes: readonly ProfileNote[];
  readonly chains: ChainChanges;
  /** Changes to the storage of plugins. */
  readonly storage: StorageChanges;
  /** Events for subscribed plugins. */
  readonly observed: readonly Delivery[];
  readonly warnings: readonly WarningCount[];
  /** Violations of tracking plans. */
  readonly violations: ViolationChanges;
  readonly deadLetters: readonly DeadLetterRow[];
  /** Published to readers of the live stream once the window is stored. */
  readonly live: Sightings;
  /** Contexts of the traced batches of the range. */
  readonly traceparents: readonly string[];
  /** When its computation began and ended, ms since the epoch. */
  readonly startedAt: number;
  readonly computedAt: number;
  readonly counts: WindowCounts;
  /** Arrival of its oldest event, ms since the epoch; undefined if all records are damaged. */
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
