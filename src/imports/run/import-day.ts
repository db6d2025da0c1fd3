export interface StoredDay extends DayState {
  /** YYYY-MM-DD, UTC. */
  readonly day: string;
}

export interface DayState {
  /** Events to load, without duplicates and rejected events. */
  readonly events: number;
  readonly bytes: number;
  readonly duplicates: number;
  readonly frames: number;
  /** Frames that the target has acknowledged: the cursor of the load. */
  readonly framesLoaded: number;
  /** Events accepted while no frame is loaded; their rows are attached once the whole month is accepted. */
  readonly accepted: number;
  /** Events that the target rejected. */
  readonly rejected: number;
  readonly verified: boolean;
  /** Accepted events by name, for verify: JSON of { [event]: { count, checksum } }. */
  readonly expected: string;
}

/** Returns whether the target has acknowledged the whole day. */
export function isLoaded({ frames, framesLoaded }: Pick<DayState, 'frames' | 'framesLoaded'>): boolean {
  return framesLoaded >= frames;
}

/** Returns whether all events of a day are accepted and none is acknowledged. */
export function isAdmitted({ events, framesLoaded, accepted }: DayState): boolean {
  return framesLoaded === 0 && accepted === events;
}

/** Events per frame, the unit of sending; the last frame of a day has fewer. */
export const frameEvents = 1000;
