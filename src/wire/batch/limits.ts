/**
 * Limits of a body and of the events in it, declared once: what capture accepts, the pipeline has to be able to store and an
 * import may count on. Sizes that an operator sets (MILLRACE_CAPTURE_…) are parameters.
 */
export interface ScanLimits {
  /** Bytes of JSON of one event. */
  readonly eventBytesMax: number;
  /** Containers within one event, the event itself included. */
  readonly depthMax: number;
  /** Object keys of one event, at all depths. */
  readonly keysMax: number;
}

/** Nesting and keys that any store and client can live with. */
export const eventDepthMax = 64;
export const eventKeysMax = 10_000;

export function scanLimits(eventBytesMax: number): ScanLimits {
  return { eventBytesMax, depthMax: eventDepthMax, keysMax: eventKeysMax };
}

/** Events of one body. Keeps the span table below 56 MB whatever is sent: `[{},{},…]` inflates a thousandfold. */
export const bodyEventsMax = 500_000;
/** Characters of an event's name. */
export const nameCharsMax = 200;
/** Characters of a distinct_id that are stored; longer ones are cut. */
export const distinctIdCharsMax = 200;
