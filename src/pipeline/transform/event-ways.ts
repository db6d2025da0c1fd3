import type { Snapshot, StepTrace, Way } from '../live/show-event.ts';
import type { ChainEvent } from './chain-event.ts';
import { runChain, type ChainTally } from './run-chain.ts';
import type { Step } from './step.ts';

interface Followed {
  readonly before: Snapshot;
  readonly steps: StepTrace[];
}

/** What transformations make of single events that somebody wants to see, step by step. */
export class EventWays {
  readonly #explain: (step: Step, error: unknown) => string;
  #followed = new Map<ChainEvent, Followed>();

  /** `explain`: an error as it may be shown. */
  constructor(explain: (step: Step, error: unknown) => string) {
    this.#explain = explain;
  }

  get isFollowing(): boolean {
    return this.#followed.size > 0;
  }

  follow(event: ChainEvent): void {
    this.#followed.set(event, { before: snapshotOf(event), steps: [] });
  }

  of(event: ChainEvent): Way | undefined {
    return this.#followed.get(event);
  }

  clear(): void {
    this.#followed = new Map();
  }

  /** As `runChain`, one step after the other, with a look at the events that are followed. */
  async run(steps: readonly Step[], events: readonly ChainEvent[], tally: ChainTally): Promise<void> {
    for (const step of steps) {
      const live = events.filter((event) => event.droppedBy === undefined);
      const seen = live.flatMap((event) => this.#begin(event));
      const errors = new Map<ChainEvent, unknown>();
      const failed: ChainTally['failed'] = (of, error, event) => {
        errors.set(event, error);
        tally.failed(of, error, event);
      };
      await runChain([step], live, { ...tally, failed });
      for (const each of seen) each.followed.steps.push(this.#traceOf(step, each, errors));
    }
  }

  #begin(event: ChainEvent): { readonly event: ChainEvent; readonly followed: Followed; readonly succeeded: number }[] {
    const followed = this.#followed.get(event);
    return followed === undefined ? [] : [{ event, followed, succeeded: event.succeeded.length }];
  }

  #traceOf(
    step: Step,
    { event, succeeded }: { readonly event: ChainEvent; readonly succeeded: number },
    errors: ReadonlyMap<ChainEvent, unknown>,
  ): StepTrace {
    const about = { configId: step.configId, label: step.label };
    if (event.droppedBy === step) return { ...about, outcome: 'dropped', error: null, after: null };
    const after = snapshotOf(event);
    if (errors.has(event)) return { ...about, outcome: 'failed', error: this.#explain(step, errors.get(event)), after };
    return { ...about, outcome: event.succeeded.length > succeeded ? 'succeeded' : 'skipped', error: null, after };
  }
}

function snapshotOf(event: ChainEvent): Snapshot {
  const { head, text } = event.save();
  const { uuid, event: name, distinctId, timestamp } = head;
  return { uuid, event: name, distinctId, timestamp, propertiesText: text };
}
