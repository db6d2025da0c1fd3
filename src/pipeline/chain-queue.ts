import type { ChainEvent } from '../transform/chain-event.ts';
import type { TransformChains } from '../transform/transform-chains.ts';
import { createRunSize } from './run-size.ts';

/** So much work is put together: a window must end soon after it began, for changes of configuration to count. */
const sizes = { first: 500, min: 20, max: 20_000, msMax: 400 } as const;

/**
 * Events in front of their project's chain. Chains that only compute are run at once; the others take many events together, of all
 * projects side by side, so that a slow one costs the others as little as may be.
 */
export class ChainQueue {
  readonly #chains: TransformChains;
  #byProject = new Map<number, ChainEvent[]>();
  #size = 0;
  readonly #runSize = createRunSize(sizes);

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
    return this.#size >= this.#runSize.events;
  }

  /** Runs all that wait. */
  async run(): Promise<void> {
    const waiting = this.#byProject;
    const size = this.#size;
    this.clear();
    const startedAt = performance.now();
    await Promise.all([...waiting].map(([projectId, events]) => this.#chains.run(projectId, events)));
    this.#runSize.took(size, performance.now() - startedAt);
  }

  clear(): void {
    this.#byProject = new Map();
    this.#size = 0;
  }
}
