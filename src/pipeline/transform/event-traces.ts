import type { Snapshot, StepTrace, Trace } from '../live/show-event.ts';
import type { ChainEvent } from './chain-event.ts';
import { runChain, type ChainTally } from './run-chain.ts';
import type { Step } from './step.ts';

interface OpenTrace {
  readonly before: Snapshot;
  readonly steps: StepTrace[];
}

/** Traces single events through the transformations, step by step. */
export class EventTraces {
  readonly #explain: (step: Step, error: unknown) => string;
  #traces = new Map<ChainEvent, OpenTrace>();

  /** @param explain formats an error without secrets */
  constructor(explain: (step: Step, error: unknown) => string) {
    this.#explain = explain;
  }

  get isTracing(): boolean {
    return this.#traces.size > 0;
  }

  trace(event: ChainEvent): void {
    this.#traces.set(event, { before: snapshotOf(event), steps: [] });
  }

  of(event: ChainEvent): Trace | undefined {
    return this.#traces.get(event);
  }

  clear(): void {
    this.#traces = new Map();
  }

  /** Does what `runChain` does, one step at a time, and records the traced events. */
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
      for (const each of seen) each.trace.steps.push(this.#stepOf(step, each, errors));
    }
  }

  #begin(event: ChainEvent): { readonly event: ChainEvent; readonly trace: OpenTrace; readonly succeeded: number }[] {
    const trace = this.#traces.get(event);
    return trace === undefined ? [] : [{ event, trace, succeeded: event.succeeded.length }];
  }

  #stepOf(
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
