export interface StoredDay extends DayState {
  /** YYYY-MM-DD, UTC. */
  readonly day: string;
}

export interface DayState {
  /** To be loaded: without duplicates and what was rejected. */
  readonly events: number;
  readonly bytes: number;
  readonly duplicates: number;
  readonly frames: number;
  /** Frames that the target has acknowledged; the cursor of the load. */
  readonly framesLoaded: number;
  readonly accepted: number;
  /** Refused by the target. */
  readonly rejected: number;
  readonly verified: boolean;
  /** Of what was accepted, by event name: JSON of { [event]: { count, checksum } }, for verify. */
  readonly expected: string;
}

/** Whether the target has acknowledged all of a day. */
export function isLoaded({ frames, framesLoaded }: Pick<DayState, 'frames' | 'framesLoaded'>): boolean {
  return framesLoaded >= frames;
}
