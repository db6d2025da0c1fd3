import { Socket } from 'node:net';
import type { GeoIp } from '../../host.ts';
import { fetchLoadedLate } from '../../outbound/load-late.ts';
import { parseAllowList } from '../../outbound/allow-list.ts';
import { limitRequests } from '../../outbound/limit-requests.ts';
import { refuseConnection, refuseRequest } from '../../outbound/refuse-requests.ts';
import { resolveAllowed } from '../../outbound/resolve-allowed.ts';
import { createOps, type Ops } from '../ops/index.ts';
import { createModuleOps } from '../ops/module-ops.ts';
import { FrameReader, writeFrame, type Frame } from '../../../base/frames.ts';
import type { ChildOptions, FromChild, OpenBody, Program, ToChild } from '../wire/messages.ts';
import { wireError } from '../wire/errors.ts';
import { deadlineDescriptor, monotonicMs, socketDescriptor, writeDeadline } from '../wire/deadline.ts';
import { createIsolateMaker, type IsolateMaker } from './isolate.ts';
import { Instance, type InstanceDeps } from './instance.ts';
import { buildSync } from 'esbuild';
import { fileURLToPath } from 'node:url';

const requestsPerMinute = 600;
const requestsAtOnce = 20;

interface ChildDeps {
  /** Opens the GeoIP database at this path. */
  readonly openGeoIp: (
    path: string,
    log: { warn(about: object, message: string): void },
  ) => { readonly geoip: GeoIp | undefined; readonly geoipProblem: string };
}

type OpsFor = (program: Program, toHost: (op: string, args: readonly unknown[]) => Promise<unknown>) => Ops;

/** The plugin process: serves the service until the connection ends. */
export function serveSandbox(deps: ChildDeps): void {
  const socket = new Socket({ fd: socketDescriptor });
  const reader = new FrameReader<ToChild>();
  const send = (message: FromChild, body?: string): void => writeFrame(socket, message, body);
  let server: Server | undefined;
  socket.on('data', (chunk: Buffer) => {
    // Responses to several requests are sent together.
    socket.cork();
    for (const { header, body } of reader.push(chunk)) {
      if (header.kind === 'init') server = start(header.options, body.toString('utf8'), deps, send);
      else server?.take({ header, body });
    }
    socket.uncork();
  });
  // The service ends this process only with SIGKILL; without the service nothing else would.
  const end = (): void => void process.kill(process.pid, 'SIGKILL');
  socket.on('close', end);
  socket.on('error', end);
  // Ctrl-C and service managers signal the whole group; the service decides when this process ends.
  process.on('SIGTERM', () => undefined);
  process.on('SIGINT', () => undefined);
}

function start(
  options: ChildOptions,
  knownBundle: string,
  deps: ChildDeps,
  send: (message: FromChild, body?: string) => void,
): Server {
  const bundle = knownBundle === '' ? bundleGuest() : knownBundle;
  const createIsolate = createIsolateMaker(bundle);
  const { allow, timeoutMs, bytesMax, ca } = options.outbound;
  const allowList = parseAllowList(allow);
  const outbound = fetchLoadedLate({ allow: allowList, timeoutMs, bytesMax, ca });
  const places = deps.openGeoIp(options.geoipDatabase, {
    warn: (_about, message) => send({ kind: 'warning', message }),
  });
  const modules = createModuleOps();
  const limited = () => limitRequests(outbound, { perMinute: requestsPerMinute, atOnce: requestsAtOnce });
  const opsFor: OpsFor = ({ pluginName, label, configId, projectId, requestsRefused = false }, toHost) =>
    createOps({
      outbound: requestsRefused ? refuseRequest : limited(),
      resolveAllowed: requestsRefused ? refuseConnection : (host, port) => resolveAllowed(host, port, allowList),
      // Read at each call because the database may be reopened.
      get geoip() {
        return places.geoip;
      },
      get geoipProblem() {
        return places.geoipProblem;
      },
      modules,
      toHost,
      instance: { pluginName, label, configId, projectId },
    });
  send({ kind: 'ready' }, bundle);
  return new Server({ options, createIsolate, opsFor, send });
}

interface ServerDeps {
  readonly options: ChildOptions;
  readonly createIsolate: IsolateMaker;
  readonly opsFor: OpsFor;
  readonly send: (message: FromChild, body?: string) => void;
}

class Server {
  readonly #deps: ServerDeps;
  readonly #instances = new Map<number, Instance>();

  constructor(deps: ServerDeps) {
    this.#deps = deps;
  }

  take({ header, body }: Frame<Exclude<ToChild, { kind: 'init' }>>): void {
    const text = (): string => body.toString('utf8');
    const instance = this.#instances.get(header.instance);
    // This message crossed the end of its instance.
    if (!instance && (header.kind === 'events' || header.kind === 'call')) {
      this.#deps.send({ kind: 'gone', instance: header.instance, cause: 'aborted' });
    }
    switch (header.kind) {
      case 'describe':
        this.#create(header, JSON.parse(text()) as Program)?.describe(header.id);
        break;
      case 'open': {
        const opened = JSON.parse(text()) as OpenBody;
        this.#create(header, opened)?.open(header.id, opened);
        break;
      }
      case 'events':
        instance?.events(header.id, text(), header.count, header.isFirst);
        break;
      case 'call':
        instance?.call(header.id, header.target, text(), header.timeoutMs);
        break;
      case 'answer':
        instance?.answer(header.call, header.ok, text());
        break;
      case 'abort':
        instance?.abort(header.id);
        break;
      case 'close':
        if (instance) instance.close(header.id);
        else this.#deps.send({ kind: 'done', id: header.id, ok: true }, 'null');
    }
  }

  /** Returns `undefined` if no isolate could be created, which has been reported. */
  #create(asked: { readonly id: number; readonly instance: number }, program: Program): Instance | undefined {
    const { options, createIsolate, opsFor, send } = this.#deps;
    const id = asked.instance;
    const deps: InstanceDeps = {
      instance: id,
      program,
      createIsolate,
      limits: options,
      createOps: (toHost) => opsFor(program, toHost),
      send,
      setDeadline: (limitMs) =>
        writeDeadline(
          deadlineDescriptor,
          limitMs === 0 ? { instance: 0, until: 0 } : { instance: id, until: monotonicMs() + limitMs },
        ),
      onGone: () => this.#instances.delete(id),
    };
    try {
      const instance = new Instance(deps);
      this.#instances.set(id, instance);
      return instance;
    } catch (error) {
      const message = `its isolate could not be created: ${error instanceof Error ? error.message : String(error)}`;
      send({ kind: 'done', id: asked.id, ok: false }, JSON.stringify(wireError('load', 'load', message)));
      return undefined;
    }
  }
}

const entry = fileURLToPath(new URL('../guest/main.ts', import.meta.url));

/** Builds the guest as one script, whose value is its `start`. Takes some tens of milliseconds. */
export function bundleGuest(): string {
  const { outputFiles } = buildSync({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'guest',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'es2024',
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'silent',
  });
  const text = outputFiles[0]?.text ?? '';
  return `(()=>{${text}\nreturn guest.start;})()`;
}
