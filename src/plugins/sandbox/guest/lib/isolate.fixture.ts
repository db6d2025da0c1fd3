import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import ivm from 'isolated-vm';
import type { OutboundFetch } from '../../../outbound/outbound.ts';
import { createOps, type OpsDeps } from '../../ops/index.ts';
import { createModuleOps } from '../../ops/module-ops.ts';
import { decodeBridge, encodeBridge } from '../../wire/bridge-json.ts';

/** The library in a real isolate over the real ops, without the event machinery around it. */
export interface TestIsolate {
  /** Evaluates an expression and returns its JSON value; promises are awaited. `meta` and `require` are available. */
  run(code: string): Promise<unknown>;
  readonly logs: (readonly [level: string, message: string])[];
  readonly metrics: (readonly unknown[])[];
  /** The calls to the service. */
  readonly asked: (readonly [op: string, args: readonly unknown[]])[];
  close(): void;
}

export interface TestIsolateOptions {
  readonly outbound?: OutboundFetch;
  readonly geoip?: OpsDeps['geoip'];
  readonly resolveAllowed?: OpsDeps['resolveAllowed'];
  readonly service?: (op: string, args: readonly unknown[]) => unknown;
  /** Passed to createMeta. */
  readonly meta?: object;
}

const pathOf = (name: string): string => JSON.stringify(fileURLToPath(new URL(name, import.meta.url)));
const now = Date.UTC(2026, 0, 2, 3, 4, 5);

const glue = `
import { createMeta, installGlobals, requireModule } from ${pathOf('index.ts')};
import { decodeBridge, encodeBridge } from ${pathOf('../../wire/bridge-json.ts')};
import { base64OfBytes, bytesOfBase64 } from ${pathOf('base64.ts')};
const waiting = new Map();
let last = 0;
const read = (text) => decodeBridge(text, bytesOfBase64);
const thrown = (text) => Object.assign(new Error(), read(text));
globalThis.start = (outside, given) => {
  const ask = (kind, id, op, args) => outside(kind, id, op, encodeBridge(args, base64OfBytes));
  const bridge = {
    pluginName: 'Test plugin',
    label: 'Test plugin (1)',
    now: () => ${now},
    callSync: (op, args) => {
      const text = ask('s', 0, op, args);
      if (text[0] === 'e') throw thrown(text.slice(1));
      return read(text.slice(1));
    },
    call: (op, args) => new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject });
      ask('c', last, op, args);
    }),
  };
  installGlobals(globalThis, bridge);
  globalThis.require = requireModule;
  globalThis.meta = createMeta(bridge, JSON.parse(given));
};
globalThis.settle = (id, text) => {
  const { resolve, reject } = waiting.get(id);
  waiting.delete(id);
  if (text[0] === 'e') reject(thrown(text.slice(1)));
  else resolve(read(text.slice(1)));
};
`;

let bundle: string | undefined;

function bundled(): string {
  bundle ??= buildSync({
    stdin: { contents: glue, resolveDir: fileURLToPath(new URL('.', import.meta.url)), loader: 'ts' },
    bundle: true,
    write: false,
    format: 'iife',
    platform: 'neutral',
    mainFields: ['main'],
    target: 'es2024',
  }).outputFiles[0]?.text;
  return bundle ?? '';
}

export async function openTestIsolate(options: TestIsolateOptions = {}): Promise<TestIsolate> {
  const isolate = new ivm.Isolate({ memoryLimit: 128 });
  const context = await isolate.createContext();
  await context.eval(bundled());
  const told = { logs: [], metrics: [], asked: [] } as Pick<TestIsolate, 'logs' | 'metrics' | 'asked'>;
  const ops = createOps(opsParts(options, told));
  const settle = await context.global.get('settle', { reference: true });
  const answer = async (id: number, work: () => unknown): Promise<void> => {
    const text = await textOf(work);
    if (isolate.isDisposed) return;
    try {
      settle.applySync(undefined, [id, text]);
    } catch {
      // A promise of the tested code was rejected before it was awaited; the code that awaits it receives the error.
    }
  };
  const outside = (kind: string, id: number, op: string, text: string): string | undefined => {
    const args = decodeBridge(text, fromBase64) as readonly unknown[];
    if (kind === 'c') {
      void answer(id, () => ops.async[op]?.(args) ?? Promise.reject(new Error(`no op ${op}`)));
      return undefined;
    }
    return answerSync(() => tell(told, op, args) ?? run(ops.sync[op], op, args));
  };
  const start = await context.global.get('start', { reference: true });
  const given = { config: {}, attachments: {}, metrics: {}, ...options.meta };
  start.applySync(undefined, [new ivm.Callback(outside, { sync: true }), JSON.stringify(given)]);
  return {
    ...told,
    run: async (code) => {
      const text: unknown = await context.eval(`(async () => JSON.stringify(await (${code})))()`, {
        promise: true,
        timeout: 5000,
      });
      return typeof text === 'string' ? JSON.parse(text) : undefined;
    },
    close: () => {
      ops.close();
      isolate.dispose();
    },
  };
}

const modules = createModuleOps();

function opsParts(options: TestIsolateOptions, told: Pick<TestIsolate, 'asked'>): OpsDeps {
  return {
    outbound: options.outbound ?? (() => Promise.reject(new Error('no outbound requests in this test'))),
    resolveAllowed: options.resolveAllowed ?? (() => Promise.reject(new Error('no connections in this test'))),
    geoip: options.geoip,
    geoipProblem: 'no database in this test',
    modules,
    toHost: async (op, args) => {
      told.asked.push([op, args]);
      return (await options.service?.(op, args)) ?? null;
    },
    instance: { pluginName: 'Test plugin', label: 'Test plugin (1)', configId: 1, projectId: 1 },
  };
}

/** Records the calls that the process handles on its own. */
function tell(told: Pick<TestIsolate, 'logs' | 'metrics'>, op: string, args: readonly unknown[]): true | undefined {
  if (op === 'log') told.logs.push([String(args[0]), String(args[1])]);
  else if (op === 'metric') told.metrics.push(args);
  else return undefined;
  return true;
}

function run(op: ((args: readonly unknown[]) => unknown) | undefined, name: string, args: readonly unknown[]): unknown {
  if (op === undefined) throw new Error(`no op ${name}`);
  return op(args);
}

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const fromBase64 = (text: string): Uint8Array => Buffer.from(text, 'base64');

function answerSync(work: () => unknown): string {
  try {
    return `o${encodeBridge(work(), toBase64)}`;
  } catch (error) {
    return failure(error);
  }
}

async function textOf(work: () => unknown): Promise<string> {
  try {
    return `o${encodeBridge(await work(), toBase64)}`;
  } catch (error) {
    return failure(error);
  }
}

function failure(error: unknown): string {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return `e${encodeBridge({ name, message }, toBase64)}`;
}
