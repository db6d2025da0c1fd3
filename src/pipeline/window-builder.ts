import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { freeMemory } from '../base/free-memory.ts';
import { eventFlag, span, spanStride, type ScannedBatch } from '../batch/scanned-batch.ts';
import { fieldFrom, fieldTo, stringAt } from '../batch/spans.ts';
import { validateEvent } from '../batch/validate.ts';
import type { DamagedRecord, IntactRecord } from '../eventlog/eventlog.ts';
import type { RowBatch } from '../eventstore/eventstore.ts';
import { EventRowWriter } from '../eventstore/rows.ts';
import type { Queries } from '../metadata/queries.ts';
import { GroupStore } from '../persons/groups.ts';
import { current, Person } from '../persons/person.ts';
import { PersonStore } from '../persons/store.ts';
import type { TransformChains } from '../transform/chains.ts';
import type { ChainEvent } from '../transform/chain-event.ts';
import { parseExact } from '../persons/exact-json.ts';
import { ChainQueue } from './chain-queue.ts';
import type { EventDraft } from './draft.ts';
import { createKnownProjects } from './known-projects.ts';
import { openRecord, settled, type BodyLimits, type RecordPlan } from './open-record.ts';
import { Observers } from './observers.ts';
import { deadLetter, ok, type Outcome } from './outcome.ts';
import { applyEvent, wantRecords } from './steps/apply-event.ts';
import { finishEvent } from './steps/finish-event.ts';
import { readEvent, readForChain } from './steps/read-event.ts';
import { outOfChain } from './steps/transform-event.ts';
import { createWindowResults, type WindowResults } from './window-results.ts';
import type { Selection, Window, WindowInput } from './window.ts';
import type { WindowStorage } from '../plugins/services/window-storage.ts';

const dayMicros = 86_400_000_000;
/** A window is full with this much JSON. */
export const inflatedBytesPerWindow = 64 * 1024 * 1024;
/**
 * Records whose persons have to be read first wait together up to this much JSON. The others are finished one by one,
 * while their bytes are still in the processor's cache, and before the garbage collector learns of them.
 */
const waitingBytesMax = 8 * 1024 * 1024;
/** How long the thread may be busy before it looks at what else is to do. */
const busyMsMax = 25;
/** Transformations that have to be waited for end a window soon, so that changes of configuration count soon. */
const waitedMsMax = 800;
/** Session recordings are none of a transformation's business. */
const bypassing = '$snapshot';

export interface WindowBuilderParts {
  readonly db: Queries;
  readonly chains: TransformChains;
  /** Of the plugins in the chains. */
  readonly storage: WindowStorage;
  readonly clock: Clock;
  readonly limits: BodyLimits;
  readonly idsMax?: number;
}

/**
 * Computes windows: records in, rows and changes out. Two passes over the events of a record: the first reads, validates
 * and transforms them and finds out which persons and groups are needed; then these are loaded, for several records at
 * once; the second applies the events in order and writes the rows.
 */
export class WindowBuilder {
  readonly #persons: PersonStore;
  readonly #groups: GroupStore;
  readonly #chains: TransformChains;
  readonly #projects: ReturnType<typeof createKnownProjects>;
  readonly #clock: Clock;
  readonly #limits: BodyLimits;
  readonly #writer = new EventRowWriter();
  readonly #observers = new Observers();
  readonly #storage: WindowStorage;
  #results: WindowResults;
  readonly #queue: ChainQueue;
  #turnStartedAt = 0;

  constructor(parts: WindowBuilderParts) {
    this.#persons = new PersonStore(parts.db, parts.idsMax);
    this.#groups = new GroupStore(parts.db);
    this.#chains = parts.chains;
    this.#projects = createKnownProjects(parts.db);
    this.#clock = parts.clock;
    this.#limits = parts.limits;
    this.#storage = parts.storage;
    this.#results = createWindowResults(parts.clock);
    this.#queue = new ChainQueue(parts.chains, (plan, draft, event) => this.#leaveChain(plan, draft, event));
  }

  /** Takes up changed configuration; build does so by itself. */
  async refresh(): Promise<void> {
    await this.#chains.refresh();
  }

  async build(input: WindowInput): Promise<Window> {
    const revision = await this.#chains.refresh();
    this.#observers.refresh(this.#chains.configs);
    await this.#projects.load(revision, projectsOf(input));
    this.#persons.begin(input.number);
    this.#groups.begin(input.number);
    this.#turnStartedAt = performance.now();
    this.#results = createWindowResults(this.#clock);
    const earlierRows: RowBatch[] = [];
    const end = await this.#process(input, earlierRows);
    return {
      number: input.number,
      lane: input.lane,
      from: input.from,
      to: end,
      token: `${input.lane}:${input.from}-${end}`,
      rows: this.#writer.take(),
      earlierRows,
      persons: this.#persons.takeChanges(),
      groups: this.#groups.takeChanges(),
      chains: this.#chains.takeChanges(),
      storage: this.#storage.takeChanges(),
      observed: this.#observers.take(),
      ...this.#results.take(),
    };
  }

  /** The window is stored for good; its rows are not looked at again. */
  committed(window: Window): void {
    this.#persons.committed(window.number);
    this.#groups.committed(window.number);
    this.#storage.committed(window.storage);
    this.#writer.recycle(window.rows);
  }

  /** Forgets everything that is not stored: the next window starts from the store's truth. */
  reset(): void {
    this.#persons.reset();
    this.#groups.reset();
    this.#chains.reset();
    this.#storage.reset();
    this.#observers.take();
    this.#queue.clear();
    this.#writer.take();
  }

  /** Record after record, until the window is full; returns the last one's seq. */
  async #process(input: WindowInput, earlierRows: RowBatch[]): Promise<number> {
    const { rowsMax } = input;
    const cut = rowsMax === undefined ? undefined : (): void => this.#cut(rowsMax, earlierRows);
    let waiting: RecordPlan[] = [];
    let waitingBytes = 0;
    let bytes = 0;
    let end = input.from;
    let isTimeUp = false;
    const startedAt = performance.now();
    for (const record of input.records) {
      const plan = this.#open(input, record);
      end = record.seq;
      if (plan !== undefined) {
        this.#planRecord(plan, input.selection);
        waiting.push(plan);
        waitingBytes += plan.scan.json.length;
        bytes += plan.scan.json.length;
        if (!this.#wantsAny() || waitingBytes >= waitingBytesMax || this.#queue.isFull) {
          const hadToWait = !this.#queue.isEmpty;
          await this.#applyAll(waiting, cut);
          isTimeUp = hadToWait && performance.now() - startedAt > waitedMsMax;
          waiting = [];
          waitingBytes = 0;
        }
      }
      await this.#breathe();
      if (input.exactEnd === undefined && (bytes >= inflatedBytesPerWindow || isTimeUp)) break;
    }
    await this.#applyAll(waiting, cut);
    return Math.max(end, input.exactEnd ?? end);
  }

  #wantsAny(): boolean {
    return this.#persons.wantsAny || this.#groups.wantsAny || !this.#queue.isEmpty;
  }

  /** Loads what the planned records need, then applies them in order and gives their memory back. */
  async #applyAll(plans: readonly RecordPlan[], cut: (() => void) | undefined): Promise<void> {
    if (!this.#queue.isEmpty) await this.#queue.run();
    if (this.#wantsAny()) await Promise.all([this.#persons.load(), this.#groups.load()]);
    for (const plan of plans) {
      this.#apply(plan, cut);
      if (plan.isUnpacked) freeMemory(plan.scan.json);
      freeMemory(plan.scan.spans);
      await this.#breathe();
    }
  }

  #open(input: WindowInput, record: IntactRecord | DamagedRecord): RecordPlan | undefined {
    const results = this.#results;
    if (input.selection?.(record.seq, -1) === 'skip') return undefined;
    if (record.damaged !== undefined) {
      results.deadRecord(input.lane, record, deadLetter('damaged_log_record', record.damaged));
      return undefined;
    }
    results.received(record);
    try {
      return openRecord(input.lane, record, this.#limits);
    } catch (error) {
      results.deadRecord(input.lane, record, results.failure(error));
      return undefined;
    }
  }

  #planRecord(plan: RecordPlan, selection: Selection | undefined): void {
    const { context, scan } = plan;
    const results = this.#results;
    const isKnown = this.#projects.has(context.projectId);
    const isInChain = this.#chains.has(context.projectId);
    const isSpliced = !isInChain && !this.#observers.has(context.projectId);
    let planned = 0;
    for (let index = 0; index < scan.count; index++) {
      const choice = selection?.(context.seq, index) ?? 'process';
      if (choice === 'skip') continue;
      results.event();
      if (choice === 'poison') {
        results.deadEvent(plan, index, deadLetter('processing_failed', 'the event cannot be stored'));
      } else if (!isKnown) {
        results.deadEvent(plan, index, deadLetter('project_not_found', `there is no project ${context.projectId}`));
      } else {
        this.#planEvent(plan, index, isInChain, isSpliced);
        planned += 1;
      }
    }
    if (isInChain) this.#queue.runNow(context.projectId);
    else this.#chains.skip(context.projectId, planned);
  }

  /** `isSpliced`: nobody looks at the project's events, so that those of the plain form need no object. */
  #planEvent(plan: RecordPlan, index: number, isInChain: boolean, isSpliced: boolean): void {
    const { context, scan, splicer } = plan;
    const results = this.#results;
    try {
      const verdict = validateEvent(scan, index, context.lane, context.receivedAt);
      if (!verdict.ok) {
        results.deadEvent(plan, index, deadLetter(verdict.code, verdict.detail, verdict.attr));
        return;
      }
      if (isSpliced && splicer.accepts(index)) {
        plan.micros[index] = splicer.times.micros;
        plan.keyDays[index] = Math.floor(splicer.times.keyMicros / dayMicros);
        const person = this.#personOf(plan, index);
        // created_at only ever falls, whatever else the window does to the person.
        const isSettled = person instanceof Person && person.createdAt <= splicer.times.micros;
        plan.items[index] = isSettled ? settled : person;
        return;
      }
      // Transformations get ordinary numbers; without any, numbers of every size stay as they were sent.
      if (isInChain && !isBypassing(scan, index)) {
        this.#queue.add(plan, readForChain(context, scan, index));
        return;
      }
      if (isInChain) this.#chains.skip(context.projectId);
      const draft = readEvent(context, scan, index, isInChain ? JSON.parse : parseExact);
      this.#finish(plan, draft, ok(draft));
    } catch (error) {
      results.deadEvent(plan, index, results.failure(error));
    }
  }

  /** Of an event on the fast path: its person, or its distinct_id when the person is not in memory. */
  #personOf({ context, scan, splicer }: RecordPlan, index: number): Person | string {
    const { projectId } = context;
    const from = (scan.spans[index * spanStride + span.distinctId] as number) + 1;
    const to = (scan.spans[index * spanStride + span.distinctId + 1] as number) - 1;
    const recent = this.#persons.recent.find(projectId, scan.json, from, to);
    if (recent !== undefined) return recent;
    const distinctId = splicer.distinctId(index);
    const person = this.#persons.project(projectId).get(distinctId);
    if (person === undefined) {
      this.#persons.want(projectId, distinctId);
      return distinctId;
    }
    this.#persons.recent.remember(person, scan.json, from, to);
    return person;
  }

  /** The queue calls this for every event that the transformations are done with. */
  #leaveChain(plan: RecordPlan, draft: EventDraft, event: ChainEvent): void {
    try {
      this.#finish(plan, draft, outOfChain(draft, event));
    } catch (error) {
      this.#results.deadEvent(plan, draft.index, this.#results.failure(error));
    }
  }

  /** Everything that can be done without knowing persons and groups. */
  #finish(plan: RecordPlan, { index }: EventDraft, transformed: Outcome<EventDraft>): void {
    const outcome = transformed.kind === 'ok' ? finishEvent(transformed.value) : transformed;
    switch (outcome.kind) {
      case 'drop':
        this.#results.droppedEvent(plan, index, outcome);
        return;
      case 'dead-letter':
        this.#results.deadEvent(plan, index, outcome);
        return;
      case 'ok':
        wantRecords(this.#persons, this.#groups, outcome.value);
        plan.items[index] = outcome.value;
    }
  }

  /** Second pass. `cut` is called before each event. */
  #apply(plan: RecordPlan, cut: (() => void) | undefined): void {
    const { items, context, splicer, micros, keyDays } = plan;
    const persons = this.#persons;
    let stored = 0;
    for (let index = 0; index < items.length; index++) {
      const item = items[index];
      if (item === null || item === undefined) continue;
      cut?.();
      const time = micros[index] as number;
      if (item !== settled) {
        const isFast = typeof item === 'string' || item instanceof Person;
        if (!isFast) {
          if (this.#applyDraft(plan, item)) stored += 1;
          continue;
        }
        const person = typeof item === 'string' ? persons.touch(context.projectId, item, time) : current(item);
        if (time < person.createdAt) persons.lowerCreatedAt(person, time);
      }
      splicer.write(this.#writer, index, time, keyDays[index] as number);
      stored += 1;
    }
    this.#results.stored(stored);
  }

  /** Copies: a batch of few rows would hold on to the memory of many. */
  #cut(rowsMax: number, earlierRows: RowBatch[]): void {
    if (this.#writer.rows < rowsMax) return;
    const batch = this.#writer.take();
    earlierRows.push({ chunks: batch.chunks.map((bytes) => new Uint8Array(bytes)), rows: batch.rows });
    this.#writer.recycle(batch);
  }

  #applyDraft(plan: RecordPlan, draft: EventDraft): boolean {
    const { context } = plan;
    const results = this.#results;
    try {
      const properties = draft.propertiesText ?? JSON.stringify(draft.properties);
      applyEvent(this.#persons, this.#groups, draft);
      this.#writer.write({
        projectId: context.projectId,
        historical: context.lane === 'historical',
        receivedAtMicros: context.receivedAt * 1000,
        timestampMicros: draft.micros,
        keyDay: Math.floor(draft.keyMicros / dayMicros),
        uuid: draft.uuid,
        event: draft.event,
        distinctId: draft.distinctId,
        properties,
      });
      if (this.#observers.has(context.projectId)) this.#observers.saw(draft, context.receivedAt, properties);
    } catch (error) {
      results.deadEvent(plan, draft.index, results.failure(error));
      return false;
    }
    for (const warning of draft.warnings) results.warn(context, warning);
    return true;
  }

  /** Lets the thread answer what came in meanwhile. */
  async #breathe(): Promise<void> {
    if (performance.now() - this.#turnStartedAt < busyMsMax) return;
    await nextTurn();
    this.#turnStartedAt = performance.now();
  }
}

function isBypassing(scan: ScannedBatch, index: number): boolean {
  const dollarName = ((scan.spans[index * spanStride + span.flags] as number) & eventFlag.dollarName) !== 0;
  return dollarName && stringAt(scan.json, fieldFrom(scan, index, 'name'), fieldTo(scan, index, 'name')) === bypassing;
}

function* projectsOf({ records }: WindowInput): Generator<number> {
  for (const record of records) if (record.damaged === undefined) yield record.header.projectId;
}
