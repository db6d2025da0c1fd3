import type { ChainEvent } from '../transform/chain-event.ts';
import type { TransformChains } from '../transform/chains.ts';
import type { EventDraft } from './draft.ts';
import type { RecordPlan } from './open-record.ts';
import { intoChain } from './steps/transform-event.ts';

interface Queued {
  readonly plan: RecordPlan;
  readonly draft: EventDraft;
  readonly event: ChainEvent;
}

/** An event that has left its chain. */
export type LeaveChain = (plan: RecordPlan, draft: EventDraft, event: ChainEvent) => void;

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
  readonly #leave: LeaveChain;
  #byProject = new Map<number, Queued[]>();
  #size = 0;
  #limit = eventsFirst;

  constructor(chains: TransformChains, leave: LeaveChain) {
    this.#chains = chains;
    this.#leave = leave;
  }

  add(plan: RecordPlan, draft: EventDraft): void {
    const queued = { plan, draft, event: intoChain(draft, plan.context.receivedAt) };
    const list = this.#byProject.get(draft.projectId);
    if (list === undefined) this.#byProject.set(draft.projectId, [queued]);
    else list.push(queued);
    this.#size += 1;
  }

  /** Runs the project's chain if nothing in it has to be waited for. */
  runNow(projectId: number): void {
    const list = this.#byProject.get(projectId);
    if (list === undefined || this.#chains.mustWait(projectId)) return;
    this.#byProject.delete(projectId);
    this.#size -= list.length;
    this.#chains.runNow(
      projectId,
      list.map(({ event }) => event),
    );
    this.#release(list);
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
    await Promise.all(
      [...waiting].map(([projectId, list]) =>
        this.#chains.run(
          projectId,
          list.map(({ event }) => event),
        ),
      ),
    );
    this.#learn(size, performance.now() - startedAt);
    for (const list of waiting.values()) this.#release(list);
  }

  clear(): void {
    this.#byProject = new Map();
    this.#size = 0;
  }

  #release(list: readonly Queued[]): void {
    for (const { plan, draft, event } of list) this.#leave(plan, draft, event);
  }

  #learn(events: number, ms: number): void {
    const fitting = Math.floor((events * workMsMax) / Math.max(ms, 1));
    this.#limit = Math.min(Math.max(Math.min(fitting, this.#limit * 2), eventsMin), eventsMax);
  }
}
