import type { ChainEvent } from './transform/chain-event.ts';
import type { TransformChains } from './transform/transform-chains.ts';

/** Work that one run takes, ms: a window must end soon after it began, so that changes of configuration take effect. */
const workMsMax = 400;
const eventsFirst = 500;
const eventsMin = 20;
const eventsMax = 20_000;

/**
 * Queues events for their project's chain. Chains that only compute run immediately; the others get many events at a time, with all
 * projects in parallel, so that a slow one delays the others as little as possible.
 */
export class ChainQueue {
  readonly #chains: TransformChains;
  #byProject = new Map<number, ChainEvent[]>();
  #size = 0;
  #limit = eventsFirst;

  constructor(chains: TransformChains) {
    this.#chains = chains;
  }

  add(projectId: number, event: ChainEvent): void {
    const events = this.#byProject.get(projectId);
    if (events === undefined) this.#byProject.set(projectId, [event]);
    else events.push(event);
    this.#size += 1;
  }

  /** Runs the project's chain unless it contains an asynchronous step. */
  runNow(projectId: number): void {
    const events = this.#byProject.get(projectId);
    if (events === undefined || this.#chains.mustWait(projectId)) return;
    this.#byProject.delete(projectId);
    this.#size -= events.length;
    this.#chains.runNow(projectId, events);
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** True when one run's worth of events is queued. */
  get isFull(): boolean {
    return this.#size >= this.#limit;
  }

  /** Runs the chains of all queued events. */
  async run(): Promise<void> {
    const waiting = this.#byProject;
    const size = this.#size;
    this.clear();
    const startedAt = performance.now();
    await Promise.all([...waiting].map(([projectId, events]) => this.#chains.run(projectId, events)));
    this.#adjustLimit(size, performance.now() - startedAt);
  }

  clear(): void {
    this.#byProject = new Map();
    this.#size = 0;
  }

  #adjustLimit(events: number, ms: number): void {
    const fitting = Math.floor((events * workMsMax) / Math.max(ms, 1));
    this.#limit = Math.min(Math.max(Math.min(fitting, this.#limit * 2), eventsMin), eventsMax);
  }
}
