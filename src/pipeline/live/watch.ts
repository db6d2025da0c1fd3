import type { LiveStage } from '../../wire/contract/live-events.ts';

/** What one reader of the live stream wants to see. */
export interface Watch {
  readonly id: number;
  readonly projectId: number;
  readonly stages: readonly LiveStage[];
  readonly event: string | undefined;
  readonly distinctId: string | undefined;
  /** With what each transformation made of the event. */
  readonly steps: boolean;
  /** Events of each stage at most. */
  readonly perSecond: number;
  /** Of a reader in another process. */
  readonly elsewhere?: true;
}

/** An event for some readers: the data of its message as JSON in one line. */
export interface Sighting {
  readonly stage: LiveStage;
  readonly watches: readonly number[];
  readonly json: string;
}

/** Events that a reader wanted and that were too many for it. */
export interface Skipped {
  readonly watch: number;
  readonly stage: LiveStage;
  readonly count: number;
}

/** What was seen at one place since the last time. Copied between threads. */
export interface Sightings {
  readonly seen: readonly Sighting[];
  readonly skipped: readonly Skipped[];
}
