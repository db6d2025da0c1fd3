import type { WireError, WireTarget } from '../wire/messages.ts';
import type { PluginExports, PluginFunction } from './exports.ts';
import { buildEvent, decodeEvents, withPersonProperties, type Given } from './guest-event.ts';
import { now, parse, promiseOf, stringify, thenOf } from './intrinsics.ts';
import { turnOf, type Outside, type Turn, type Turns } from './outside.ts';
import { describeThrown, fault } from './thrown.ts';

/** One request with a single result: setup, teardown, a job, a schedule, onEvent, exportEvents. */
export interface TaskRun {
  readonly method: string;
  end(error: WireError): void;
}

interface TaskDeps {
  readonly id: number;
  readonly method: string;
  readonly kind: WireError['kind'];
  readonly outside: Outside;
  readonly turns: Turns;
  /** Called after the steps: returns work to finish before the end. */
  readonly lastly: () => Promise<void> | undefined;
  readonly onEnd: () => void;
}

type Step = () => unknown;

/**
 * Runs all steps one after the other, even after errors; then reports the result of the last one, or the first error. With
 * several steps each is the turn of one event.
 */
export function startTask(deps: TaskDeps, steps: readonly Step[]): TaskRun {
  const { id, method, outside, turns, lastly, onEnd } = deps;
  let turn: Turn | undefined;
  let error: WireError | undefined;
  let over = false;

  function end(ok: boolean, json: string): void {
    if (over) return;
    over = true;
    if (turn) turn.over = true;
    outside('d', id, ok ? 1 : 0, json);
    onEnd();
  }

  function failed(thrown: unknown): void {
    error ??= describeThrown(thrown, deps.kind, method);
  }

  function finish(value: unknown): void {
    if (error) end(false, stringify(error));
    else end(true, jsonOf(value, failed) ?? stringify(error));
  }

  function stepsOver(value: unknown): void {
    const last = lastly();
    if (last === undefined) {
      finish(value);
      return;
    }
    void thenOf(
      last,
      () => finish(value),
      (thrown) => {
        failed(thrown);
        finish(value);
      },
    );
  }

  function step(index: number, value: unknown): void {
    const todo = steps[index];
    if (over) return;
    if (todo === undefined) {
      stepsOver(value);
      return;
    }
    turn = turnOf(id, steps.length > 1 ? index : 0, now());
    turns.current = turn;
    try {
      void thenOf(
        promiseOf(todo()),
        (next) => step(index + 1, next),
        (thrown) => {
          failed(thrown);
          step(index + 1, null);
        },
      );
    } catch (thrown) {
      failed(thrown);
      step(index + 1, null);
    }
  }
  step(0, null);
  return { method, end: (given) => end(false, stringify(given)) };
}

/** The result of a job is used only if JSON can represent it. */
function jsonOf(value: unknown, failed: (thrown: unknown) => void): string | undefined {
  try {
    return stringify(value === undefined ? null : value) ?? 'null';
  } catch (thrown) {
    failed(thrown);
    return undefined;
  }
}

/** Returns the steps of a call. Throws a WireError if the plugin lacks the function. */
export function stepsOf(target: WireTarget, text: string, exported: PluginExports, meta: unknown): readonly Step[] {
  if (target.kind === 'scheduled') {
    const task = expectFunction(exported.scheduled(target.name), target.name);
    return [() => task(meta)];
  }
  if (target.kind === 'job') {
    const job = expectFunction(exported.job(target.name), target.name);
    // Without a payload, meta is the only argument.
    const payload = text === '' ? undefined : (parse(text) as unknown);
    return [() => (payload === undefined || payload === null ? job(meta) : job(payload, meta))];
  }
  const method = expectFunction(exported.method(target.kind), target.kind);
  const given = decodeEvents(text, '');
  const eventOf = (each: Given): unknown => withPersonProperties(buildEvent(each));
  if (target.kind === 'onEvent') return given.map((each) => () => method(eventOf(each), meta));
  return [() => method(given.map(eventOf), meta)];
}

/** Thrown in place of a WireError. */
export class MissingFunction {
  readonly error: WireError;
  constructor(name: string) {
    this.error = fault('thrown', name, `expected the plugin to have ${name}, which it does not export`);
  }
}

function expectFunction(found: PluginFunction | undefined, name: string): PluginFunction {
  if (!found) throw new MissingFunction(name);
  return found;
}
