import { checkResult, failed, type Checked } from './check-result.ts';
import { buildEvent, decodeEvents, type Given, type GuestEvent } from './guest-event.ts';
import { isArray, now, promiseOf, thenOf } from './intrinsics.ts';
import type { Outside, Turn, Turns } from './outside.ts';
import { describeThrown, fault } from './thrown.ts';

/** Events of one config that are at work at once. */
const atOnceMax = 10;

export interface ProcessMethod {
  readonly name: 'processEvent' | 'processEventBatch';
  call(event: GuestEvent): unknown;
}

/** One request to process events. */
export interface EventRun {
  /** Starts the first ones. */
  start(): void;
  /**
   * For a run that is not at its end after that: some wait. Starts what may start besides; true: more can be started by asking
   * again, so that each that waits began in an entry of its own.
   */
  next(): boolean;
  /** Runs one event again, alone. */
  solo(index: number): void;
  fail(index: number, kind: 'time' | 'aborted', message: string): void;
  /** Ends those at work since before `cutoff` (ms since the epoch). */
  expire(cutoff: number, kind: 'time' | 'aborted', message: string): void;
  /** Nothing is under way that could finish those at work. */
  stuck(message: string): void;
  /** The process cut off what was running: that event, to be run again or failed; -1: none of these. */
  cutOff(turn: Turn): number;
  /** Nothing more is started; what is not finished fails. */
  failRest(message: string): void;
  report(): void;
}

export function createEventRun(
  id: number,
  text: string,
  parts: {
    readonly outside: Outside;
    readonly turns: Turns;
    readonly label: string;
    readonly method: ProcessMethod;
    readonly onEnd: () => void;
  },
): EventRun {
  const { outside, turns, label, method, onEnd } = parts;
  const given = decodeEvents(text, label);
  const running = new Map<number, Turn>();
  const again = new Set<number>();
  let started = 0;
  let finished = 0;
  let waited = false;
  let cut = false;
  let head = '';
  let texts = '';

  function report(): void {
    if (head === '') return;
    const results = `[${head}]\n${texts}`;
    head = '';
    texts = '';
    outside('r', id, finished === given.length ? 1 : 0, results);
    if (finished === given.length) onEnd();
  }

  function finish(turn: Turn, checked: Checked): void {
    turn.over = true;
    if (running.size > 0) running.delete(turn.index);
    finished++;
    head += `${head === '' ? '' : ','}[${turn.index},${checked.entry}]`;
    texts += checked.text;
    // What has waited may be lost with the isolate while the others wait on; what has not is cheap to do again.
    if (waited || finished === given.length) report();
  }

  function complete(turn: Turn, result: unknown, event: GuestEvent, input: Given): void {
    if (turn.over) return;
    let checked: Checked;
    try {
      checked = checkResult(result, event, input, { label, method: method.name });
    } catch (error) {
      checked = failed(describeThrown(error, 'result', method.name));
    }
    finish(turn, checked);
  }

  /** True: it waits. */
  function invoke(index: number): boolean {
    const input = given[index];
    if (input === undefined) return false;
    const turn: Turn = { id, index, captures: 0, startedAt: now(), over: false };
    turns.current = turn;
    try {
      const event = buildEvent(input);
      const result = method.call(event);
      if (isThenable(result)) {
        wait(turn, result, event, input);
        return true;
      }
      complete(turn, result, event, input);
    } catch (error) {
      finish(turn, failed(describeThrown(error, 'thrown', method.name)));
    }
    return false;
  }

  function wait(turn: Turn, result: unknown, event: GuestEvent, input: Given): void {
    running.set(turn.index, turn);
    void thenOf(
      promiseOf(result),
      (value) => {
        complete(turn, value, event, input);
        next();
      },
      (error) => {
        if (!turn.over) finish(turn, failed(describeThrown(error, 'thrown', method.name)));
        next();
      },
    );
  }

  function next(): boolean {
    while (started < given.length && running.size < atOnceMax) {
      if (!invoke(started++)) continue;
      return started < given.length && running.size < atOnceMax;
    }
    return false;
  }

  function failTurn(turn: Turn, kind: 'time' | 'aborted', message: string): void {
    finish(turn, failed(fault(kind, method.name, message)));
  }

  return {
    start: () => void next(),
    next: () => {
      waited = true;
      report();
      return next();
    },
    solo: (index) => void invoke(index),
    fail: (index, kind, message) => {
      const turn = running.get(index) ?? { id, index, captures: 0, startedAt: 0, over: false };
      failTurn(turn, kind, message);
    },
    expire: (cutoff, kind, message) => {
      for (const turn of running.values()) if (turn.startedAt <= cutoff) failTurn(turn, kind, message);
    },
    stuck: (message) => {
      for (const turn of running.values()) {
        if (cut && !again.has(turn.index)) {
          // It may have lost its continuation when another event was cut off.
          again.add(turn.index);
          turn.over = true;
          invoke(turn.index);
          return;
        }
        failTurn(turn, 'time', message);
      }
    },
    cutOff: (turn) => {
      cut = true;
      if (turn.over) return -1;
      turn.over = true;
      running.delete(turn.index);
      report();
      return turn.index;
    },
    failRest: (message) => {
      for (const turn of running.values()) failTurn(turn, 'time', message);
      while (started < given.length) {
        failTurn({ id, index: started++, captures: 0, startedAt: 0, over: false }, 'time', message);
      }
    },
    report,
  };
}

function isThenable(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !isArray(value) &&
    typeof (value as Record<string, unknown>)['then'] === 'function'
  );
}
