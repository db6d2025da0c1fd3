/**
 * Limits of bodies and events, declared once: the pipeline must be able to store, and an import may rely on, what capture
 * accepts. Sizes that an operator sets (MILLRACE_CAPTURE_…) are parameters.
 */
export interface ScanLimits {
  /** JSON bytes of one event. */
  readonly eventBytesMax: number;
  /** Containers within one event, the event itself included. */
  readonly depthMax: number;
  /** Object keys of one event, at all depths. */
  readonly keysMax: number;
}

/** Nesting and keys that every store and client can handle. */
export const eventDepthMax = 64;
export const eventKeysMax = 10_000;

export function scanLimits(eventBytesMax: number): ScanLimits {
  return { eventBytesMax, depthMax: eventDepthMax, keysMax: eventKeysMax };
}

/** Events of one body. Keeps the span table below 56 MB, since `[{},{},…]` compresses a thousandfold. */
export const bodyEventsMax = 500_000;
/** Characters of an event's name. */
export const nameCharsMax = 200;
/** Characters to which a distinct_id is truncated. */
export const distinctIdCharsMax = 200;
