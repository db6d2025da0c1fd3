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
  /** While no frame is loaded: those that were let in, whose rows may be attached once all of their month are. */
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

/** Whether all events of a day were let in, and none is acknowledged. */
export function isAdmitted({ events, framesLoaded, accepted }: DayState): boolean {
  return framesLoaded === 0 && accepted === events;
}

/** Events of a frame, which is sent at once; the last one of a day has fewer. */
export const frameEvents = 1000;
