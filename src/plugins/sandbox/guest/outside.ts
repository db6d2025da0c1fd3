/**
 * The one function of the process that an isolate gets; takes and gives primitives only. By its first argument:
 *
 * - `s` op, bridge-json → bridge-json, or `e` and the JSON of an error: answered at once
 * - `c` call, op, bridge-json, request, index, nth → nothing, or `e` and the JSON of an error when there are too many under way:
 *   answered by the command `settle`
 * - `l` level, message, request, index · `m` name, kind, value: notes
 * - `r` request, 1 when these are the last, results-text
 * - `d` request, 1 when it went well, JSON of the value or the error
 */
export type Outside = (kind: string, ...rest: readonly (string | number)[]) => string | undefined;

/** In whose name the plugin's code is running right now. */
export interface Turn {
  /** Request of the service; 0: none. */
  readonly id: number;
  /** Which of its events; -1: it has none. */
  readonly index: number;
  captures: number;
  /** Calls under way that the service answers at once, and the others. */
  quick: number;
  slow: number;
  readonly startedAt: number;
  /** Nobody waits for it any more. */
  over: boolean;
}

export interface Turns {
  current: Turn;
}

export function turnOf(id: number, index: number, startedAt: number): Turn {
  return { id, index, captures: 0, quick: 0, slow: 0, startedAt, over: false };
}

export const nobody: Turn = { ...turnOf(0, -1, 0), over: true };
