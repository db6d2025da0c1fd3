import { withoutMap } from '../../base/inline-source-map.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import type { Log } from '../../server/telemetry/log.ts';
import { ConfigInstance, lostSentence } from './host/config-instance.ts';
import { Supervisor } from './host/supervisor.ts';
import { SandboxError, type Described, type InstanceSpec, type Sandbox, type SandboxProgram } from './sandbox.ts';
import { decodeNode, encodeNode, errorText } from './wire/node-bridge.ts';
import { toSandboxError } from './wire/errors.ts';
import type { ChildOptions, FromChild, Program } from './wire/messages.ts';

export interface SandboxOptions extends ChildOptions {
  /** Limit of the process with all isolates. */
  readonly processBytesMax: number;
  readonly instancesMax: number;
  readonly idleMs: number;
  readonly log: Log;
  readonly clock?: Clock;
}

interface SandboxStats {
  /** Isolates in memory. */
  readonly instances: number;
  /** Resident memory of the process; 0 if it does not run, or the system does not report it. */
  readonly rssBytes: number;
  readonly restarts: number;
}

export interface IsolatedSandbox extends Sandbox {
  stats(): SandboxStats;
  /** Whether the process, if any, responds within this many ms or computes within its limits. */
  answers(withinMs: number): Promise<boolean>;
  /** Process id, if it runs. */
  readonly pid: number | undefined;
}

/** Above this share of the process limit, idle instances are evicted. */
const crowdedShare = 0.8;
const lossesMax = 5;

/** Runs plugins in isolates of a child process, which starts on first use. */
export function createSandbox(options: SandboxOptions): IsolatedSandbox {
  return new Isolated(options);
}

class Isolated implements IsolatedSandbox {
  readonly #options: SandboxOptions;
  readonly #clock: Clock;
  readonly #supervisor: Supervisor;
  readonly #instances = new Set<ConfigInstance>();
  #lastNumber = 0;
  #sweeper: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const { memoryBytesMax, cpuMs, waitMs, taskMs, outbound, geoipDatabase, processBytesMax, log } = options;
    this.#supervisor = new Supervisor(
      { child: { memoryBytesMax, cpuMs, waitMs, taskMs, outbound, geoipDatabase }, processBytesMax, log },
      {
        onGone: (number) => this.#byNumber(number)?.gone(),
        onAllGone: () => {
          for (const instance of this.#instances) instance.gone();
        },
        onOp: (header, text) => void this.#answer(header, text),
        onTelemetry: (number, text) => this.#byNumber(number)?.forward(text),
      },
    );
  }

  get pid(): number | undefined {
    return this.#supervisor.pid;
  }

  stats(): SandboxStats {
    const instances = [...this.#instances].filter((each) => each.isOpen).length;
    return { instances, rssBytes: this.#supervisor.rssBytes, restarts: this.#supervisor.restarts };
  }

  answers(withinMs: number): Promise<boolean> {
    return this.#supervisor.answers(withinMs);
  }

  async describe({ pluginName, code }: SandboxProgram): Promise<Described> {
    const program: Program = { pluginName, code: withoutMap(code), label: pluginName, configId: 0, projectId: 0 };
    for (let losses = 0; ; losses++) {
      await this.#supervisor.ready();
      const request = { kind: 'describe', instance: ++this.#lastNumber } as const;
      const end = await this.#supervisor.ask(request, JSON.stringify(program)).answer;
      if (end.kind === 'done') {
        if (!end.ok) throw toSandboxError(JSON.parse(end.text));
        return JSON.parse(end.text) as Described;
      }
      if (end.suspect || losses >= lossesMax) {
        throw new SandboxError(end.cause, lostSentence(end.cause), { method: 'load' });
      }
    }
  }

  async open(spec: InstanceSpec, onSetup: () => void = () => undefined): Promise<ConfigInstance> {
    const instance: ConfigInstance = new ConfigInstance({
      spec,
      supervisor: this.#supervisor,
      taskMs: this.#options.taskMs,
      waitMs: this.#options.waitMs,
      nextNumber: () => ++this.#lastNumber,
      makeRoom: (more) => this.#makeRoom(more),
      now: () => this.#clock.now(),
      onSetup,
      onClosed: () => this.#instances.delete(instance),
    });
    this.#instances.add(instance);
    try {
      await instance.ensureOpen();
    } catch (error) {
      this.#instances.delete(instance);
      throw error;
    }
    this.#sweepNowAndThen();
    return instance;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#sweeper);
    await Promise.all([...this.#instances].map((instance) => instance.close()));
    await this.#supervisor.close();
  }

  #byNumber(number: number): ConfigInstance | undefined {
    for (const instance of this.#instances) if (instance.number === number) return instance;
    return undefined;
  }

  async #answer({ instance, call, op, cause }: Extract<FromChild, { kind: 'op' }>, text: string): Promise<void> {
    let ok = true;
    let answer: string;
    try {
      const config = this.#byNumber(instance);
      if (!config) throw new Error('expected a running config: a program that is only described has no services');
      const args = decodeNode(text);
      if (!Array.isArray(args)) throw new TypeError('expected a list of arguments');
      answer = encodeNode(await config.serve(op, args, cause));
    } catch (error) {
      ok = false;
      answer = errorText(error);
    }
    this.#supervisor.tell({ kind: 'answer', instance, call, ok }, answer);
  }

  /** Evicts the instances idle longest until this many more fit. Running ones stay, even if there are too many. */
  async #makeRoom(more: number): Promise<void> {
    const { instancesMax, processBytesMax } = this.#options;
    const open = [...this.#instances].filter((each) => each.isOpen);
    const crowded = more > 0 && this.#supervisor.rssBytes > processBytesMax * crowdedShare;
    const excess = Math.max(open.length + more - instancesMax, crowded ? Math.ceil(open.length / 4) : 0);
    const idle = open.filter((each) => each.busy === 0).sort((a, b) => a.lastUsed - b.lastUsed);
    await Promise.all(idle.slice(0, Math.max(0, excess)).map((each) => each.evict()));
  }

  #sweepNowAndThen(): void {
    const { idleMs } = this.#options;
    this.#sweeper ??= setInterval(
      () => {
        for (const instance of this.#instances) {
          const idle = instance.busy === 0 && this.#clock.now() - instance.lastUsed >= idleMs;
          if (idle && instance.isOpen) void instance.evict();
        }
      },
      Math.max(100, idleMs / 4),
    ).unref();
  }
}
