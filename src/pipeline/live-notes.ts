import { isoMicros, isoOfMicros, type Clock } from '../base/clock.ts';
import type { LiveStage } from '../wire/contract/live-events.ts';
import { fieldFrom, fieldTo, stringAt } from '../wire/batch/spans.ts';
import { showEvent, type Shown, type Snapshot, type Trace } from './live/show-event.ts';
import type { Tap } from './live/tap.ts';
import type { Sightings } from './live/watch.ts';
import type { ChainEvent } from './transform/chain-event.ts';
import type { TransformChains } from './transform/transform-chains.ts';
import type { DeadLetterRow } from './dead-letters.ts';
import type { EventDraft, RecordContext } from './event-draft.ts';
import { state, type OpenRecord } from './open-record.ts';
import type { DeadLetter, Drop } from './outcome.ts';
import { readEvent, unread } from './read-event.ts';

export interface LiveNotesDeps {
  readonly tap: Tap;
  readonly chains: Pick<TransformChains, 'trace' | 'traceOf' | 'masked'>;
  readonly clock: Clock;
}

/**
 * Collects what readers of the live stream see of a window. Nothing is read or kept unless the project is watched, and nothing is
 * published before the window is stored: events that are computed again are not shown twice.
 */
export class LiveNotes {
  readonly #deps: LiveNotesDeps;
  #traces = new Map<EventDraft, Trace>();

  constructor(deps: LiveNotesDeps) {
    this.#deps = deps;
  }

  isWatched(projectId: number): boolean {
    return this.#deps.tap.isWatched(projectId);
  }

  /** Traces an event that enters the transformations if a reader wants its steps. */
  entered({ projectId, event, distinctId }: EventDraft, inChain: ChainEvent): void {
    if (this.#deps.tap.wantsSteps(projectId, event, distinctId)) this.#deps.chains.trace(inChain);
  }

  /** Takes the trace of an event that has left the transformations, or was dropped by one. */
  left(draft: EventDraft, inChain: ChainEvent): void {
    const trace = this.#deps.chains.traceOf(inChain);
    if (trace !== undefined) this.#traces.set(draft, trace);
  }

  transformed(draft: EventDraft, context: RecordContext): void {
    this.#note('transformed', context, draft.event, draft.distinctId, () => this.#ofDraft(draft));
  }

  /** An event that has its row. */
  stored(draft: EventDraft, context: RecordContext): void {
    this.#note('stored', context, draft.event, draft.distinctId, () => this.#ofDraft(draft));
  }

  /** An event whose row was copied as bytes. */
  spliced({ context, scan, splicer }: OpenRecord, index: number): void {
    const event = stringAt(scan.json, fieldFrom(scan, index, 'name'), fieldTo(scan, index, 'name'));
    this.#note('stored', context, event, splicer.distinctId(index), () =>
      this.#ofDraft(readEvent(context, scan, index, JSON.parse, true)),
    );
  }

  /** @param dead the row of a dead letter */
  ended(record: OpenRecord, index: number, { kind, reason, detail }: Drop | DeadLetter, dead?: DeadLetterRow): void {
    const { context, states } = record;
    const draft = states[index] === state.draft ? record.drafts.find((each) => each.index === index) : undefined;
    const event = draft?.event ?? dead?.event ?? '';
    const distinctId = draft?.distinctId ?? dead?.distinct_id ?? '';
    const end = { reason, detail, deadLetter: dead?.id ?? null };
    this.#note(kind === 'drop' ? 'dropped' : 'dead_letter', context, event, distinctId, () => ({
      ...(draft === undefined ? refused(event, distinctId, dead) : this.#ofDraft(draft)),
      end,
    }));
  }

  take(): Sightings {
    this.#traces = new Map();
    return this.#deps.tap.take();
  }

  #ofDraft(draft: EventDraft): Snapshot & Pick<Shown, 'trace'> {
    const { uuid, event, distinctId, micros, properties, propertiesText } = draft;
    // Both are missing when a transformation failed before the properties were read.
    const text = propertiesText ?? (properties === unread ? null : JSON.stringify(properties));
    return {
      uuid,
      event,
      distinctId,
      timestamp: isoOfMicros(micros),
      propertiesText: text,
      trace: this.#traces.get(draft),
    };
  }

  #note(
    stage: LiveStage,
    { projectId, lane, receivedAt }: RecordContext,
    event: string,
    distinctId: string,
    show: () => Snapshot & Pick<Shown, 'end' | 'trace'>,
  ): void {
    const { tap, chains, clock } = this.#deps;
    const watches = tap.readersOf(projectId, stage, event, distinctId);
    if (watches.length === 0) return;
    const shown = {
      ...show(),
      stage,
      at: isoMicros(clock.now()),
      receivedAt: isoMicros(receivedAt),
      historical: lane === 'historical',
    };
    tap.add({ stage, watches, json: chains.masked(projectId, showEvent(shown)) });
  }
}

/** Shows an event that could not be read. */
function refused(event: string, distinctId: string, dead: DeadLetterRow | undefined): Snapshot {
  const uuid = dead?.event_uuid ?? null;
  return { uuid, event, distinctId, timestamp: null, propertiesText: null };
}
