/**
 * Runs in every isolate next to the plugin: bundled into one script and evaluated first. Ends in one function, `enter`, the only
 * way in; everything crosses as text.
 */
import { EventRun, type ProcessMethod } from './event-runs.ts';
import { readExports, type PluginExports } from './exports.ts';
import { createBridge, type GuestBridge } from './bridge.ts';
import { isArray, parse, stringify } from './intrinsics.ts';
import {
  createMeta,
  doLeftOver,
  installGlobals,
  requireModule,
  type GivenAttachment,
  type PluginMeta,
} from './lib/index.ts';
import { idleTurn, turnOf, type Outside, type Turns } from './outside.ts';
import { MissingFunction, startTask, stepsOf, type TaskRun } from './task-runs.ts';
import { scriptName } from '../wire/script-name.ts';
import { describeThrown, fault } from './thrown.ts';
import type { WireTarget } from '../wire/messages.ts';

interface State {
  readonly outside: Outside;
  readonly turns: Turns;
  readonly bridge: GuestBridge;
  readonly runs: Map<number, EventRun>;
  readonly tasks: Map<number, TaskRun>;
  exported: PluginExports | undefined;
  process: ProcessMethod | undefined;
  meta: PluginMeta | undefined;
  /** More calls of the delivery will follow. */
  isDelivering: boolean;
}

/** Text that begins with `!` says why the entry was refused. */
type EntryValue = string | number;
type Command = (state: State, id: number, text: string, extra: string) => EntryValue | undefined | void;

const unfinished = '!it did not finish';
// oxlint-disable-next-line no-eval -- running the plugin's code is what an isolate is for; under another name it runs at top level
const evaluate = globalThis.eval;

const commands: Readonly<Record<string, Command>> = {
  load,
  setup,
  events: (state, id, text) => addRun(state, id, text).start(),
  /** Fails events without trying them. */
  refuse: (state, id, text, message) => addRun(state, id, text).failRest(message),
  next: ({ runs }, id) => (runs.get(id)?.next() === true ? 1 : 0),
  solo: ({ runs }, id, index) => runs.get(id)?.solo(+index),
  fail: ({ runs }, id, index, message) => runs.get(id)?.fail(+index, 'time', message),
  'fail-rest': ({ runs }, id, message) => runs.get(id)?.failRest(message),
  stuck: ({ runs, tasks }, id, message) => {
    runs.get(id)?.stuck(message);
    const task = tasks.get(id);
    task?.end(fault('time', task.method, message));
    return undefined;
  },
  expire: ({ runs, tasks }, id, about) => {
    const { cutoff, kind, message } = parse(about) as { cutoff: number; kind: 'time' | 'aborted'; message: string };
    runs.get(id)?.expire(cutoff, kind, message);
    const task = tasks.get(id);
    task?.end(fault(kind, task.method, message));
    return undefined;
  },
  'timed-out': ({ runs, turns }) => {
    const turn = turns.current;
    turns.current = idleTurn;
    const index = runs.get(turn.id)?.timedOut(turn) ?? -1;
    return turn.id === 0 ? '' : `${turn.id}:${index}`;
  },
  settle: ({ bridge }, call, text, ok) => bridge.settle(call, ok === '1', text),
  call: (state, id, text, about) => {
    const target = parse(about) as WireTarget;
    const method = 'name' in target ? target.name : target.kind;
    state.isDelivering = 'more' in target && target.more === true;
    return runTask(state, id, method, 'thrown', (exported) => stepsOf(target, text, exported, state.meta));
  },
  teardown: (state, id) => {
    state.isDelivering = false;
    return runTask(state, id, 'teardownPlugin', 'thrown', (exported) => {
      const teardown = exported.method('teardownPlugin');
      return teardown ? [() => teardown(state.meta)] : [];
    });
  },
};

function addRun({ outside, turns, bridge, runs, process }: State, id: number, text: string): EventRun {
  if (!process) throw new Error('expected a plugin with processEvent or processEventBatch');
  const onEnd = (): void => void runs.delete(id);
  const run = new EventRun(id, text, { outside, turns, label: bridge.label, method: process, onEnd });
  runs.set(id, run);
  return run;
}

/** Evaluates the plugin's code and answers the request with its exports. */
function load(state: State, id: number, code: string): undefined {
  const { outside, turns } = state;
  const exported = {};
  const module = { exports: {} };
  const define = (name: string, value: unknown): void => {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true, enumerable: false });
  };
  define('exports', exported);
  define('module', module);
  define('require', requireModule);
  turns.current = turnOf(id, -1, 0);
  try {
    // The semicolon disables a "use strict" of the plugin: published plugins are sloppy.
    evaluate(`;${code}\n//# sourceURL=${scriptName}`);
    state.exported = readExports(exported, module, globalThis);
    state.process = processMethod(state, state.exported);
    outside('d', id, 1, stringify(state.exported.described));
  } catch (error) {
    outside('d', id, 0, stringify(describeThrown(error, 'load', 'load')));
  }
  return undefined;
}

function setup(state: State, id: number, text: string): undefined {
  const given = parse(text) as { config: Record<string, unknown>; attachments: Record<string, GivenAttachment> };
  return runTask(state, id, 'setupPlugin', 'setup', (exported) => {
    state.meta = createMeta(state.bridge, { ...given, metrics: exported.described.metrics });
    const setupPlugin = exported.method('setupPlugin');
    // The result is ignored, and may not be representable in JSON.
    return setupPlugin ? [() => setupPlugin(state.meta), () => null] : [];
  });
}

function processMethod(state: State, exported: PluginExports): ProcessMethod | undefined {
  const processEvent = exported.method('processEvent');
  if (processEvent) return { name: 'processEvent', call: (event) => processEvent(event, state.meta) };
  const processBatch = exported.method('processEventBatch');
  if (!processBatch) return undefined;
  const first = (result: unknown): unknown => (isArray(result) ? (result[0] as unknown) : result);
  return {
    name: 'processEventBatch',
    call: (event) => {
      const result = processBatch([event], state.meta);
      return result instanceof Promise ? result.then(first) : first(result);
    },
  };
}

function runTask(
  state: State,
  id: number,
  method: string,
  kind: 'setup' | 'thrown',
  stepsFor: (exported: PluginExports) => readonly (() => unknown)[],
): undefined {
  const { outside, turns, tasks, exported } = state;
  if (!exported) throw new Error('expected the plugin to be loaded first');
  let ended = false;
  // Setup cannot leave deferred work, and its results are not ready before its end.
  const lastly = (): Promise<void> | undefined =>
    kind === 'setup' || state.isDelivering || tasks.size > 1 ? undefined : doLeftOver();
  const onEnd = (): void => {
    ended = true;
    tasks.delete(id);
  };
  try {
    const task = startTask({ id, method, kind, outside, turns, lastly, onEnd }, stepsFor(exported));
    if (!ended) tasks.set(id, task);
  } catch (error) {
    const failure = error instanceof MissingFunction ? error.error : describeThrown(error, kind, method);
    outside('d', id, 0, stringify(failure));
  }
  return undefined;
}

/** Removes access to memory that the isolate's limit does not count, and to blocking waits; no plugin needs them. */
function removeUncounted(): void {
  for (const name of ['WebAssembly', 'SharedArrayBuffer', 'Atomics']) Reflect.deleteProperty(globalThis, name);
}

type Enter = (name: string | number, id: number, text?: string, extra?: string) => EntryValue;

/**
 * Called once by the process, which keeps the returned function. That function never throws, so any error that the process
 * receives is an unhandled rejection of the entry.
 */
export function start(outside: Outside, factsText: string): Enter {
  removeUncounted();
  const turns: Turns = { current: idleTurn };
  const bridge = createBridge(outside, turns, parse(factsText) as { pluginName: string; label: string });
  installGlobals(globalThis, bridge);
  const state: State = {
    outside,
    turns,
    bridge,
    runs: new Map(),
    tasks: new Map(),
    exported: undefined,
    process: undefined,
    meta: undefined,
    isDelivering: false,
  };
  let last: EntryValue = unfinished;
  return (name, id, text = '', extra = '') => {
    if (name === 'last') return last;
    last = unfinished;
    try {
      const command = commands[name];
      if (!command) throw new Error('expected a command');
      last = command(state, id, text, extra) ?? 0;
    } catch (error) {
      last = `!${describeThrown(error, 'thrown', '').message}`;
    }
    return last;
  };
}
