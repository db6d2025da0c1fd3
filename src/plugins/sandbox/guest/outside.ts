/**
 * The only function of the process available to an isolate; it passes primitives only. By its first argument:
 *
 * - `s` op, bridge-json → bridge-json, or `e` and the JSON of an error: a synchronous call
 * - `c` call, op, bridge-json, request, index, nth → nothing, or `e` and the JSON of an error if too many are pending: settled
 *   by the command `settle`
 * - `l` level, message, request, index · `m` name, kind, value: telemetry
 * - `r` request, 1 for the last ones, results-text
 * - `d` request, 1 on success, JSON of the value or the error
 */
export type Outside = (kind: string, ...rest: readonly (string | number)[]) => string | undefined;

/** The request and event on whose account the plugin's code is running. */
export interface Turn {
  /** Request of the service; 0 means none. */
  readonly id: number;
  /** Index of its event; -1 means none. */
  readonly index: number;
  captures: number;
  /** Pending calls that the service answers immediately, and the others. */
  quick: number;
  slow: number;
  readonly startedAt: number;
  /** Its result is no longer needed. */
  over: boolean;
}

export interface Turns {
  current: Turn;
}

export function turnOf(id: number, index: number, startedAt: number): Turn {
  return { id, index, captures: 0, quick: 0, slow: 0, startedAt, over: false };
}

export const idleTurn: Turn = { ...turnOf(0, -1, 0), over: true };
