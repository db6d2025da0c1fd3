import { checkResult, failed, type Checked } from './check-result.ts';
import { buildEvent, decodeEvents, type Given, type GuestEvent } from './guest-event.ts';
import { isArray, now, promiseOf, thenOf } from './intrinsics.ts';
import { turnOf, type Outside, type Turn, type Turns } from './outside.ts';
import { describeThrown, fault } from './thrown.ts';

/** Concurrent events of one config while they wait for calls. */
const atOnceMax = 10;

export interface ProcessMethod {
  readonly name: 'processEvent' | 'processEventBatch';
  call(event: GuestEvent): unknown;
}

interface EventRunDeps {
  readonly outside: Outside;
  readonly turns: Turns;
  readonly label: string;
  readonly method: ProcessMethod;
  readonly onEnd: () => void;
}

/** One request to process events. */
export class EventRun {
  readonly #id: number;
  readonly #deps: EventRunDeps;
  readonly #given: readonly Given[];
  /** Waiting events, by index. */
  readonly #running = new Map<number, Turn>();
  readonly #again = new Set<number>();
  #started = 0;
  #finished = 0;
  #waited = false;
  #hasTimedOut = false;
  #head = '';
  #texts = '';

  constructor(id: number, text: string, deps: EventRunDeps) {
    this.#id = id;
    this.#deps = deps;
    this.#given = decodeEvents(text, deps.label);
  }

  /** Starts the first events. */
  start(): void {
    this.#startMore();
  }

  /**
   * Continues a run with waiting events. Starts as many as may start; none while one of them is about to resume. Returns true if
   * another call can start more, so that each waiting event began in a separate entry.
   */
  next(): boolean {
    this.#waited = true;
    this.#report();
    for (const turn of this.#running.values()) if (turn.quick > 0 && turn.slow === 0) return false;
    return this.#startMore();
  }

  /** Runs one event again, alone. */
  solo(index: number): void {
    this.#invoke(index);
  }

  fail(index: number, kind: 'time' | 'aborted', message: string): void {
    this.#fail(this.#running.get(index) ?? this.#turn(index), kind, message);
  }

  /** Ends the events that started before `cutoff` (ms since the epoch). */
  expire(cutoff: number, kind: 'time' | 'aborted', message: string): void {
    for (const turn of this.#running.values()) if (turn.startedAt <= cutoff) this.#fail(turn, kind, message);
  }

  /** Ends running events that no pending work can finish. */
  stuck(message: string): void {
    for (const turn of this.#running.values()) {
      if (this.#hasTimedOut && !this.#again.has(turn.index)) {
        // Its continuation may have been lost when another event timed out.
        this.#again.add(turn.index);
        turn.over = true;
        this.#running.delete(turn.index);
        this.#invoke(turn.index);
        return;
      }
      this.#fail(turn, 'time', message);
    }
  }

  /** Returns the interrupted event, to be run again or failed; -1 for an interruption outside this run. */
  timedOut(turn: Turn): number {
    this.#hasTimedOut = true;
    if (turn.over) return -1;
    turn.over = true;
    this.#running.delete(turn.index);
    this.#report();
    return turn.index;
  }

  /** Fails every unfinished event and starts no more. */
  failRest(message: string): void {
    for (const turn of this.#running.values()) this.#fail(turn, 'time', message);
    while (this.#started < this.#given.length) this.#fail(this.#turn(this.#started++), 'time', message);
  }

  /** Starts one event after the other until one waits. Returns true if more may be started. */
  #startMore(): boolean {
    const { length } = this.#given;
    while (this.#started < length && this.#running.size < atOnceMax) {
      if (this.#invoke(this.#started++)) return this.#started < length && this.#running.size < atOnceMax;
    }
    return false;
  }

  /** Returns true if the event waits. */
  #invoke(index: number): boolean {
    const input = this.#given[index];
    if (input === undefined) return false;
    const { turns, method } = this.#deps;
    const turn = this.#turn(index);
    turns.current = turn;
    try {
      const event = buildEvent(input);
      const result = method.call(event);
      if (isThenable(result)) {
        this.#wait(turn, result, event, input);
        return true;
      }
      this.#complete(turn, result, event, input);
    } catch (error) {
      this.#finish(turn, failed(describeThrown(error, 'thrown', method.name)));
    }
    return false;
  }

  #wait(turn: Turn, result: unknown, event: GuestEvent, input: Given): void {
    const promise = promiseOf(result);
    this.#running.set(turn.index, turn);
    this.#waited = true;
    // The next one is started from outside, in a separate entry: only then is it known what this one waits for.
    void thenOf(
      promise,
      (value) => this.#complete(turn, value, event, input),
      (error) => {
        if (!turn.over) this.#finish(turn, failed(describeThrown(error, 'thrown', this.#deps.method.name)));
      },
    );
  }

  #complete(turn: Turn, result: unknown, event: GuestEvent, input: Given): void {
    if (turn.over) return;
    const { label, method } = this.#deps;
    let checked: Checked;
    try {
      checked = checkResult(result, event, input, { label, method: method.name });
    } catch (error) {
      checked = failed(describeThrown(error, 'result', method.name));
    }
    this.#finish(turn, checked);
  }

  #fail(turn: Turn, kind: 'time' | 'aborted', message: string): void {
    this.#finish(turn, failed(fault(kind, this.#deps.method.name, message)));
  }

  #finish(turn: Turn, checked: Checked): void {
    turn.over = true;
    if (this.#running.size > 0) this.#running.delete(turn.index);
    this.#finished++;
    this.#head += `${this.#head === '' ? '' : ','}[${turn.index},${checked.entry}]`;
    this.#texts += checked.text;
    // The results of waited work are reported early because they could be lost with the isolate; others are cheap to repeat.
    if (this.#waited || this.#finished === this.#given.length) this.#report();
  }

  #report(): void {
    if (this.#head === '') return;
    const results = `[${this.#head}]\n${this.#texts}`;
    this.#head = '';
    this.#texts = '';
    const isEnd = this.#finished === this.#given.length;
    this.#deps.outside('r', this.#id, isEnd ? 1 : 0, results);
    if (isEnd) this.#deps.onEnd();
  }

  #turn(index: number): Turn {
    return turnOf(this.#id, index, now());
  }
}

function isThenable(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !isArray(value) &&
    typeof (value as Record<string, unknown>)['then'] === 'function'
  );
}
