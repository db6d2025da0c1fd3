import type { LiveStage } from '../../wire/contract/live-events.ts';

/** What one reader of the live stream wants to see. */
export interface Watch {
  readonly id: number;
  readonly projectId: number;
  readonly stages: readonly LiveStage[];
  readonly event: string | undefined;
  readonly distinctId: string | undefined;
  /** Whether to include the result of each transformation. */
  readonly steps: boolean;
  /** Maximum events per stage and second. */
  readonly perSecond: number;
  /** The reader is in another process. */
  readonly elsewhere?: true;
}

/** An event for some readers, with the data of its message as JSON in one line. */
export interface Sighting {
  readonly stage: LiveStage;
  readonly watches: readonly number[];
  readonly json: string;
}

/** Number of events that a reader wanted beyond its limit. */
export interface Skipped {
  readonly watch: number;
  readonly stage: LiveStage;
  readonly count: number;
}

/** Sightings of one source since the last call. Copied between threads. */
export interface Sightings {
  readonly seen: readonly Sighting[];
  readonly skipped: readonly Skipped[];
}
