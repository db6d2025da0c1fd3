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
import { createKnownProjects } from './known-projects.ts';
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

/** A window is full with this much JSON. */
export const inflatedBytesPerWindow = 32 * 1024 * 1024;
/**
 * Records whose persons have to be loaded first wait together up to this much JSON. The others are finished one by one,
 * while their bytes are still in the processor's cache, and before the garbage collector learns of them.
 */
const waitingBytesMax = 8 * 1024 * 1024;
/** How long the thread may be busy before it looks at what else is to do. */
const busyMsMax = 25;

export interface WindowBuilderDeps {
  /** Id of the reader whose records these are. */
  readonly logId: string;
  readonly db: Queries;
  readonly chains: TransformChains;
  /** Of the plugins in the chains. */
  readonly storage: WindowStorage;
  readonly clock: Clock;
  readonly limits: BodyLimits;
  /** Memory for persons, bytes, of all builders. */
  readonly personCacheBytes: number;
  /** Where readers of the live stream look on. */
  readonly tap: Tap;
  /** How many builders share the memory for persons and groups. Default: none but this one. */
  readonly builders?: () => number;
  /** Of all of them. Default: its own. */
  readonly rowMemory?: RowMemory;
  /** What capture hands on of records. Default: nothing. */
  readonly scans?: Pick<ScanReceiver, 'take'> | undefined;
}

/**
 * Computes windows: records in, rows and changes out. What happens to an event, and in which order, is in order.ts; here is
 * when: record after record, with a wait for transformations and one for persons and groups, each for several records at once.
 */
export class WindowBuilder {
  readonly #deps: WindowBuilderDeps;
  readonly #persons: PersonStore;
  readonly #groups: GroupStore;
  readonly #notes = new ProfileNotes();
  readonly #projects: ReturnType<typeof createKnownProjects>;
  readonly #rows: WindowRows;
  readonly #observers = new Observers();
  readonly #results: WindowResults;
  readonly #queue: ChainQueue;
  readonly #live: LiveNotes;
  readonly #order: Order;
  /** Read, and not stored yet; in order. */
  #waiting: OpenRecord[] = [];
  #waitingBytes = 0;
  /** How many of them are understood: the others wait for transformations. */
  #understood = 0;
  #turnStartedAt = 0;

  constructor(deps: WindowBuilderDeps) {
    const { db, chains, clock, builders = () => 1 } = deps;
    this.#deps = deps;
    this.#persons = new PersonStore(db, () => deps.personCacheBytes / builders());
    this.#groups = new GroupStore(db, () => groupsMaxDefault / builders());
    this.#rows = new WindowRows(deps.rowMemory);
    this.#projects = createKnownProjects(db);
    this.#live = new LiveNotes(deps);
    this.#results = new WindowResults(deps.logId, clock, this.#live);
    this.#queue = new ChainQueue(chains);
    this.#order = createOrder({
      projects: this.#projects,
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

  /** Takes up changed configuration; build does so by itself. */
  async refresh(): Promise<void> {
    await this.#deps.chains.refresh();
  }

  async build(input: WindowInput): Promise<Window> {
    const { chains, storage } = this.#deps;
    const revision = await chains.refresh();
    this.#observers.refresh(chains.configs);
    await this.#projects.load(revision, projectsOf(input));
    this.#persons.begin(input.number);
    this.#groups.begin(input.number);
    this.#rows.begin(input.rowsMax);
    this.#turnStartedAt = performance.now();
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
      ...this.#results.take(),
    };
  }

  /** The window is stored for good; its rows are not looked at again. */
  committed(window: Window): void {
    this.#persons.committed(window.number);
    this.#groups.committed(window.number);
    this.#deps.storage.committed(window.storage);
    this.#rows.recycle(window.rows);
  }

  /** Somebody else changes persons and groups in the store: they are read again. Only while every window is stored. */
  forgetProfiles(): void {
    this.#persons.reset();
    this.#groups.reset();
  }

  /** Forgets everything that is not stored: the next window starts from the store's truth. */
  reset(): void {
    this.#persons.reset();
    this.#groups.reset();
    this.#notes.take();
    this.#deps.chains.reset();
    this.#deps.storage.reset();
    this.#observers.take();
    this.#results.take();
    this.#live.take();
    this.#queue.clear();
    this.#rows.take();
    this.#clearWaiting();
  }

  /** Record after record, until the window is full; returns the last one's seq. */
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
        const isWaitOver = await this.#take(record);
        isTimeUp = isWaitOver && performance.now() - startedAt > waitedMsMax;
      }
      await this.#breathe();
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

  /** As far as the record comes without a wait, unless it is time for one. True: it was one for transformations. */
  async #take(record: OpenRecord): Promise<boolean> {
    run(this.#order.read, record);
    this.#waiting.push(record);
    this.#waitingBytes += record.bytes;
    const isQueued = !this.#queue.isEmpty;
    if (!isQueued) this.#understand();
    const wantsAny = isQueued || this.#persons.wantsAny || this.#groups.wantsAny;
    if (wantsAny && this.#waitingBytes < waitingBytesMax && !this.#queue.isFull) return false;
    await this.#store();
    return isQueued;
  }

  #understand(): void {
    for (; this.#understood < this.#waiting.length; this.#understood++) {
      run(this.#order.understand, this.#waiting[this.#understood] as OpenRecord);
    }
  }

  /** Finishes the records that wait, and gives their memory back. */
  async #store(): Promise<void> {
    if (!this.#queue.isEmpty) await this.#queue.run();
    this.#understand();
    if (this.#persons.wantsAny || this.#groups.wantsAny) {
      await Promise.all([this.#persons.load(), this.#groups.load()]);
    }
    for (const record of this.#waiting) {
      run(this.#order.store, record);
      record.free();
      await this.#breathe();
    }
    this.#clearWaiting();
  }

  #clearWaiting(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#understood = 0;
  }

  /** Lets the thread answer what came in meanwhile. */
  async #breathe(): Promise<void> {
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

/** As imports/stages/load/deliver-facts.ts sends it. */
interface Fact {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: JsonObject;
}

/** Whether `openFacts` takes the record. */
function isOfFacts({ header }: IntactRecord): boolean {
  return header.rowsStored === 'persons' && header.encoding === 'zstd-ndjson';
}

/**
 * As `openRecord`, of facts of persons. They were events once that were read and checked, and nobody wants rows of them: so they are
 * drafts at once, and their bytes are scanned only where one becomes a dead letter.
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

/** With every digit of their numbers. */
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
