import type { ChainEvent } from './transform/chain-event.ts';
import type { TransformChains } from './transform/transform-chains.ts';

/** So much work is put together, ms: a window must end soon after it began, for changes of configuration to count. */
const workMsMax = 400;
const eventsFirst = 500;
const eventsMin = 20;
const eventsMax = 20_000;

/**
 * Events in front of their project's chain. Chains that only compute are run at once; the others take many events together, of all
 * projects side by side, so that a slow one costs the others as little as may be.
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

  /** Runs the project's chain if nothing in it has to be waited for. */
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

  /** As many as can be done in a moment. */
  get isFull(): boolean {
    return this.#size >= this.#limit;
  }

  /** Runs all that wait. */
  async run(): Promise<void> {
    const waiting = this.#byProject;
    const size = this.#size;
    this.clear();
    const startedAt = performance.now();
    await Promise.all([...waiting].map(([projectId, events]) => this.#chains.run(projectId, events)));
    this.#learn(size, performance.now() - startedAt);
  }

  clear(): void {
    this.#byProject = new Map();
    this.#size = 0;
  }

  #learn(events: number, ms: number): void {
    const fitting = Math.floor((events * workMsMax) / Math.max(ms, 1));
    this.#limit = Math.min(Math.max(Math.min(fitting, this.#limit * 2), eventsMin), eventsMax);
  }
}
