import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import type { ScanReceiver } from '../wire/batch/scan-relay.ts';
import type { DamagedRecord, IntactRecord, Lane } from '../log/eventlog.ts';
import type { RowMemory } from '../stores/events/rows.ts';
import type { Queries } from '../stores/metadata/queries.ts';
import { GroupStore, groupsMaxDefault } from './persons/group-store.ts';
import { PersonStore } from './persons/person-store.ts';
import type { WindowStorage } from '../plugins/services/window-storage.ts';
import type { TransformChains } from './transform/transform-chains.ts';
import { ChainQueue } from './chain-queue.ts';
import type { Tap } from './live/tap.ts';
import { createKnownKeptOut } from './known-kept-out.ts';
import { createKnownPlans } from './known-plans.ts';
import { createKnownProjects } from './known-projects.ts';
import { createViolationTally } from './violation-tally.ts';
import { LiveNotes } from './live-notes.ts';
import { Observers } from './observers.ts';
import {
  openRecord,
  contextOf,
  scanRecord,
  state,
  type BodyLimits,
  type OpenRecord,
  type OpenOptions,
} from './open-record.ts';
import { createOrder, type Order } from './order.ts';
import { deadLetter, failure } from './outcome.ts';
import { ProfileNotes } from './profile-notes.ts';
import type { Step } from './step.ts';
import { WindowResults } from './window-results.ts';
import { WindowRows } from './window-rows.ts';
import type { Window, WindowInput } from './window.ts';
import { mayHoldExact, parseExact } from '../base/exact-json.ts';
import type { JsonObject } from '../base/json.ts';
import { arrayOfLines } from '../base/json-lines.ts';
import { freeMemory } from '../base/free-memory.ts';
import { inflateLines } from '../wire/batch/inflate-body.ts';
import type { ScannedBatch } from '../wire/batch/scanned-batch.ts';
import { parseTimestamp } from '../wire/batch/timestamps.ts';
import type { EventDraft, RecordContext } from './event-draft.ts';
import { createSplicer } from './splicer.ts';

/** JSON at which a window is full. */
const inflatedBytesPerWindow = 32 * 1024 * 1024;
/**
 * Records whose persons have to be loaded first wait together up to this much JSON. The others are finished one by one,
 * while their bytes are still in the processor's cache, and before the garbage collector sees them.
 */
const waitingBytesMax = 8 * 1024 * 1024;
/** How long the thread may be busy before it yields to the event loop. */
const busyMsMax = 25;

export interface WindowBuilderDeps {
  /** Id of the log that the records come from. */
  readonly logId: string;
  readonly db: Queries;
  readonly chains: TransformChains;
  /** Storage of the plugins in the chains. */
  readonly storage: WindowStorage;
  readonly clock: Clock;
  readonly limits: BodyLimits;
  /** Memory for persons of all builders, bytes. */
  readonly personCacheBytes: number;
  /** Publishes to readers of the live stream. */
  readonly tap: Tap;
  /** Number of builders that share the memory for persons and groups. Default: this one only. */
  readonly builders?: () => number;
  /** Shared by all of them. Default: a separate one. */
  readonly rowMemory?: RowMemory;
  /** Scans that capture forwards. Default: none. */
  readonly scans?: Pick<ScanReceiver, 'take'> | undefined;
}

/**
 * Computes windows: records in, rows and changes out. order.ts defines what happens to an event and in which order; this class
 * schedules it: record after record, with one wait for transformations and one for persons and groups, each for several records.
 */
export class WindowBuilder {
  readonly #deps: WindowBuilderDeps;
  readonly #persons: PersonStore;
  readonly #groups: GroupStore;
  readonly #notes = new ProfileNotes();
  readonly #projects: ReturnType<typeof createKnownProjects>;
  readonly #plans: ReturnType<typeof createKnownPlans>;
  readonly #keptOut: ReturnType<typeof createKnownKeptOut>;
  readonly #violations = createViolationTally();
  readonly #rows: WindowRows;
  readonly #observers = new Observers();
  readonly #results: WindowResults;
  readonly #queue: ChainQueue;
  readonly #live: LiveNotes;
  readonly #order: Order;
  /** Records that are read but not stored, in order. */
  #waiting: OpenRecord[] = [];
  #waitingBytes = 0;
  /** How many of them are resolved: the others wait for transformations. */
  #resolved = 0;
  #turnStartedAt = 0;

  constructor(deps: WindowBuilderDeps) {
    const { db, chains, clock, builders = () => 1 } = deps;
    this.#deps = deps;
    this.#persons = new PersonStore(db, () => deps.personCacheBytes / builders());
    this.#groups = new GroupStore(db, () => groupsMaxDefault / builders());
    this.#rows = new WindowRows(deps.rowMemory);
    this.#projects = createKnownProjects(db);
    this.#plans = createKnownPlans(db);
    this.#keptOut = createKnownKeptOut(db);
    this.#live = new LiveNotes(deps);
    this.#results = new WindowResults(deps.logId, clock, this.#live);
    this.#queue = new ChainQueue(chains);
    this.#order = createOrder({
      projects: this.#projects,
      plans: this.#plans,
      keptOut: this.#keptOut,
      violations: this.#violations,
      chains,
      queue: this.#queue,
      persons: this.#persons,
      groups: this.#groups,
      notes: this.#notes,
      rows: this.#rows,
      observers: this.#observers,
      results: this.#results,
      live: this.#live,
    });
  }

  /** Loads changed configuration; `build` does so itself. */
  async refresh(): Promise<void> {
    await this.#deps.chains.refresh();
  }

  async build(input: WindowInput): Promise<Window> {
    const { chains, storage } = this.#deps;
    const revision = await chains.refresh();
    this.#observers.refresh(chains.configs);
    await this.#projects.load(revision, projectsOf(input));
    await this.#plans.load(revision, projectsOf(input));
    await this.#keptOut.load(revision, projectsOf(input));
    this.#persons.begin(input.number);
    this.#groups.begin(input.number);
    this.#rows.begin(input.rowsMax);
    this.#turnStartedAt = performance.now();
    const startedAt = this.#deps.clock.now();
    const end = await this.#takeRecords(input);
    return {
      number: input.number,
      lane: input.lane,
      from: input.from,
      to: end,
      token: `${input.lane}:${input.from}-${end}`,
      ...this.#rows.take(),
      persons: this.#persons.takeChanges(),
      groups: this.#groups.takeChanges(),
      notes: this.#notes.take(),
      chains: chains.takeChanges(),
      storage: storage.takeChanges(),
      observed: this.#observers.take(),
      live: this.#live.take(),
      violations: this.#violations.take(),
      ...this.#results.take(),
      startedAt,
      computedAt: this.#deps.clock.now(),
    };
  }

  /** Called when the window is stored; its rows are no longer used. */
  committed(window: Window): void {
    this.#persons.committed(window.number);
    this.#groups.committed(window.number);
    this.#deps.storage.committed(window.storage);
    this.#rows.recycle(window.rows);
  }

  /** Drops cached persons and groups after another writer changed them. Allowed only while every window is stored. */
  forgetProfiles(): void {
    this.#persons.reset();
    this.#groups.reset();
  }

  /** Drops everything that is not stored: the next window starts from what the store contains. */
  reset(): void {
    this.#persons.reset();
    this.#groups.reset();
    this.#notes.take();
    this.#deps.chains.reset();
    this.#deps.storage.reset();
    this.#observers.take();
    this.#results.take();
    this.#violations.take();
    this.#live.take();
    this.#queue.clear();
    this.#rows.take();
    this.#clearWaiting();
  }

  /** Takes records until the window is full; returns the last one's seq. */
  async #takeRecords(input: WindowInput): Promise<number> {
    const { exactEnd, waitedMsMax = Infinity } = input;
    const startedAt = performance.now();
    let bytes = 0;
    let end = input.from;
    let isTimeUp = false;
    for (const found of input.records) {
      const record = this.#open(input, found);
      end = found.seq;
      if (record !== undefined) {
        bytes += record.bytes;
        const hasWaited = await this.#take(record);
        isTimeUp = hasWaited && performance.now() - startedAt > waitedMsMax;
      }
      await this.#yieldToLoop();
      if (exactEnd === undefined && (bytes >= inflatedBytesPerWindow || isTimeUp)) break;
    }
    await this.#store();
    return Math.max(end, exactEnd ?? end);
  }

  #open({ lane, selection }: WindowInput, record: IntactRecord | DamagedRecord): OpenRecord | undefined {
    if (selection?.(record.seq, -1) === 'skip') return undefined;
    if (record.damaged !== undefined) {
      this.#results.endRecord(lane, record, deadLetter('damaged_log_record', record.damaged));
      return undefined;
    }
    this.#results.received(record);
    try {
      const scan = this.#deps.scans?.take(lane, record.seq);
      const open = isOfFacts(record) ? openFacts : openRecord;
      return open(lane, record, this.#deps.limits, { selection, scan });
    } catch (error) {
      this.#results.endRecord(lane, record, failure(error));
      return undefined;
    }
  }

  /** Processes the record until it has to wait, and waits if enough records do. Returns whether it waited for transformations. */
  async #take(record: OpenRecord): Promise<boolean> {
    run(this.#order.read, record);
    this.#waiting.push(record);
    this.#waitingBytes += record.bytes;
    const isQueued = !this.#queue.isEmpty;
    if (!isQueued) this.#resolveDrafts();
    const wantsAny = isQueued || this.#persons.wantsAny || this.#groups.wantsAny;
    if (wantsAny && this.#waitingBytes < waitingBytesMax && !this.#queue.isFull) return false;
    await this.#store();
    return isQueued;
  }

  #resolveDrafts(): void {
    for (; this.#resolved < this.#waiting.length; this.#resolved++) {
      run(this.#order.resolve, this.#waiting[this.#resolved] as OpenRecord);
    }
  }

  /** Finishes the waiting records and releases their memory. */
  async #store(): Promise<void> {
    if (!this.#queue.isEmpty) await this.#queue.run();
    this.#resolveDrafts();
    if (this.#persons.wantsAny || this.#groups.wantsAny) {
      await Promise.all([this.#persons.load(), this.#groups.load()]);
    }
    for (const record of this.#waiting) {
      run(this.#order.store, record);
      record.free();
      await this.#yieldToLoop();
    }
    this.#clearWaiting();
  }

  #clearWaiting(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#resolved = 0;
  }

  /** Yields to the event loop when the thread has been busy for too long. */
  async #yieldToLoop(): Promise<void> {
    if (performance.now() - this.#turnStartedAt < busyMsMax) return;
    await nextTurn();
    this.#turnStartedAt = performance.now();
  }
}

function run(steps: readonly Step[], record: OpenRecord): void {
  for (const step of steps) step(record);
}

function* projectsOf({ records }: WindowInput): Generator<number> {
  for (const record of records) if (record.damaged === undefined) yield record.header.projectId;
}

/** A fact as imports/stages/load/deliver-facts.ts sends it. */
interface Fact {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: JsonObject;
}

/** Returns whether `openFacts` handles the record. */
function isOfFacts({ header }: IntactRecord): boolean {
  return header.rowsStored === 'persons' && header.encoding === 'zstd-ndjson';
}

/**
 * Does what `openRecord` does for facts of persons. The events behind them were checked before and have their rows: facts start as
 * drafts, and their bytes are scanned only when one becomes a dead letter.
 */
function openFacts(lane: Lane, record: IntactRecord, limits: BodyLimits, { selection }: OpenOptions = {}): OpenRecord {
  const context = contextOf(lane, record);
  const lines = inflateLines(record.body);
  const bytes = lines.length;
  const drafts = factsIn(lines).map((fact, index) => draftOf(context, fact, index));
  freeMemory(lines);
  let scan: ScannedBatch | undefined;
  const scanned = (): ScannedBatch => (scan ??= scanRecord(record, limits));
  return {
    context,
    get scan() {
      return scanned();
    },
    bytes,
    free: () => {},
    selection,
    states: new Uint8Array(drafts.length).fill(state.draft),
    get splicer() {
      return createSplicer(context, scanned());
    },
    drafts,
  };
}

/** Parses facts, keeping every digit of their numbers. */
function factsIn(lines: Buffer): readonly Fact[] {
  const array = arrayOfLines(lines);
  const text = array.toString('utf8');
  freeMemory(array);
  const facts = mayHoldExact(text) ? lines.toString('utf8').split('\n').map(parseExact) : (JSON.parse(text) as unknown);
  // Sound: the load wrote them.
  return facts as readonly Fact[];
}

function draftOf(context: RecordContext, fact: Fact, index: number): EventDraft {
  const { uuid, event, distinct_id: distinctId, timestamp, properties } = fact;
  const micros = microsOf(timestamp);
  return {
    kind: 'draft',
    index,
    projectId: context.projectId,
    uuid,
    event,
    distinctId,
    micros,
    keyMicros: micros,
    properties,
    propertiesText: null,
    warnings: [],
    inChain: null,
    person: null,
    groups: null,
  };
}

const isoLength = '2024-03-01T10:00:00.123456Z'.length;

function microsOf(timestamp: string): number {
  if (timestamp.length !== isoLength) return parseTimestamp(timestamp) ?? 0;
  const two = (at: number): number => (timestamp.charCodeAt(at) - 48) * 10 + timestamp.charCodeAt(at + 1) - 48;
  const ms = Date.UTC(two(0) * 100 + two(2), two(5) - 1, two(8), two(11), two(14), two(17));
  return ms * 1000 + two(20) * 10_000 + two(22) * 100 + two(24);
}
