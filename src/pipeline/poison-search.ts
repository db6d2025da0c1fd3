import type { Clock } from '../base/clock.ts';
import type { EventLogReader, Lane, StoredRecord } from '../log/eventlog.ts';
import { StoreUnavailableError, type EventStore } from '../stores/events/eventstore.ts';
import type { Metadata } from '../stores/metadata/database.ts';
import { SlotLostError, type SlotHold } from '../stores/metadata/slot-leases.ts';
import { MetadataUnreadError } from '../stores/metadata/unread-error.ts';
import { ProfileConflictError } from './persons/profile-conflict.ts';
import type { Log } from '../server/telemetry/log.ts';
import { writeWindow } from './store-window.ts';
import type { WindowBuilder } from './window-builder.ts';
import type { Selection, Window } from './window.ts';
import { ProjectSpreadError } from './window-projects.ts';

/** Consecutive failures of a range after which its events are suspects. */
const failuresMax = 3;

/** A range of the log that fails. */
interface Suspect {
  readonly lane: Lane;
  readonly from: number;
  readonly to: number;
  failures: number;
}

interface Place {
  readonly seq: number;
  readonly index: number;
}

/**
 * Prevents a poison event from blocking its lane permanently. A range that fails repeatedly while the stores are reachable is
 * bisected until the poison events are known; they become dead letters when the range is computed again.
 */
export interface PoisonSearch {
  /** Returns how to treat the events of a lane while some are known poison; `name` distinguishes that content from the whole. */
  selection(lane: Lane): { readonly selection: Selection; readonly name: string } | undefined;
  /**
   * Returns the maximum of events to take, and of rows per insert, after `from`; `undefined` means no limit. A range whose parts
   * succeed while the whole fails (out of memory, for example) is stored in halves, and these in halves again. A range is never
   * shorter than a record, so the rows of a record with many events are inserted in sequence, before its changes and the cursor.
   */
  eventsMax(lane: Lane, from: number): number | undefined;
  /** Runs work on records of a lane; a failure makes their range suspect. */
  watch<T>(lane: Lane, from: number, records: readonly StoredRecord[], work: () => Promise<T>): Promise<T>;
  watchWindow(window: Window, work: () => Promise<void>): Promise<void>;
  stored(window: Window): void;
  /** Searches the suspect range, if it has failed often enough. No other work may be in progress. */
  search(log: Log): Promise<void>;
}

interface SearchDeps {
  readonly hold: SlotHold;
  readonly db: Metadata;
  readonly reader: EventLogReader;
  readonly store: Pick<EventStore, 'insertBatch'>;
  readonly builder: WindowBuilder;
  readonly clock: Clock;
}

export function createPoisonSearch(deps: SearchDeps): PoisonSearch {
  const poison: Record<Lane, Map<string, Place>> = { live: new Map(), historical: new Map() };
  const halves: Partial<Record<Lane, { readonly from: number; readonly events: number }>> = {};
  let suspect: Suspect | undefined;

  const suspectRange = (lane: Lane, from: number, to: number): void => {
    const isSame = suspect?.lane === lane && suspect.from === from;
    suspect = { lane, from, to, failures: (isSame ? (suspect?.failures ?? 0) : 0) + 1 };
  };
  const watched = async <T>(lane: Lane, from: number, to: number, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (!(await isStoreFailure(deps.db, error))) suspectRange(lane, from, to);
      throw error;
    }
  };

  return {
    selection: (lane) => {
      const known = poison[lane];
      if (known.size === 0) return undefined;
      const selection: Selection = (seq, index) => (known.has(keyOf(seq, index)) ? 'poison' : 'process');
      return { selection, name: `without-${[...known.keys()].slice(0, 4).join('-')}-${known.size}` };
    },
    eventsMax: (lane, from) => (halves[lane]?.from === from ? halves[lane].events : undefined),
    watch: (lane, from, records, work) => watched(lane, from, records.at(-1)?.seq ?? from, work),
    watchWindow: (window, work) => watched(window.lane, window.from, window.to, work),
    stored: (window) => {
      if (suspect?.lane === window.lane && window.to > suspect.from) suspect = undefined;
      for (const [key, { seq }] of poison[window.lane]) if (seq <= window.to) poison[window.lane].delete(key);
    },
    search: async (log) => {
      if (suspect === undefined) return;
      const { lane, from, to } = suspect;
      const last = halves[lane]?.from === from ? halves[lane].events : undefined;
      // A range that was halved before is halved again at the next failure.
      if (suspect.failures < (last === undefined ? failuresMax : 1)) return;
      const { found, events } = await searchRange(deps, suspect, poison[lane]);
      if (found.length === 0) halves[lane] = { from, events: half(Math.min(events, last ?? events)) };
      for (const place of found) poison[lane].set(keyOf(place.seq, place.index), place);
      suspect = undefined;
      if (found.length > 0) {
        log.error({ lane, from, to, events: found.length }, 'poison events set aside as dead letters');
      }
    },
  };
}

function half(events: number): number {
  return Math.max(1, Math.ceil(events / 2));
}

function keyOf(seq: number, index: number): string {
  return `${seq}.${index}`;
}

async function searchRange(deps: SearchDeps, { lane, from, to }: Suspect, known: Map<string, Place>) {
  const { reader, builder } = deps;
  const all = { events: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER, lastSeq: to };
  const records = await reader.read(lane, from, all);
  const places: Place[] = [];
  const note: Selection = (seq, index) => {
    if (index >= 0 && !known.has(keyOf(seq, index))) places.push({ seq, index });
    return index === -1 ? 'process' : 'skip';
  };
  const input = { number: Number.MAX_SAFE_INTEGER, lane, from, records, exactEnd: to };
  const probe = async (first: number, end: number): Promise<boolean> => {
    const tried = new Set(places.slice(first, end).map(({ seq, index }) => keyOf(seq, index)));
    const seqs = new Set(places.slice(first, end).map(({ seq }) => seq));
    const selection: Selection = (seq, index) =>
      (index === -1 ? seqs.has(seq) : tried.has(keyOf(seq, index))) ? 'process' : 'skip';
    try {
      const window = await builder.build({ ...input, selection });
      await tryWindow(deps, window, `${window.token}:try-${first}-${end}`);
      return true;
    } catch (error) {
      if (await isStoreFailure(deps.db, error)) throw error;
      return false;
    } finally {
      builder.reset();
    }
  };
  builder.reset();
  // Processes nothing, but visits every event: bodies may contain more events than were valid on arrival.
  await builder.build({ ...input, selection: note });
  const poison = await bisect(places.length, probe);
  return { found: poison.flatMap((at) => places[at] ?? []), events: places.length };
}

/**
 * Returns whether a failure was caused by a store and not by the content of the range. Drivers report a lost connection in many
 * ways; but right after such a failure the metadata store does not answer.
 */
async function isStoreFailure(db: Metadata, error: unknown): Promise<boolean> {
  const others = [StoreUnavailableError, MetadataUnreadError, SlotLostError, ProfileConflictError, ProjectSpreadError];
  return others.some((each) => error instanceof each) || !(await isReachable(db));
}

async function isReachable(db: Metadata): Promise<boolean> {
  try {
    await db.selectFrom('slots').select('slot').limit(1).execute();
    return true;
  } catch {
    // The caller reports the error that it has.
    return false;
  }
}

class RolledBack extends Error {}

/** Inserts the rows (under a separate token; their identity removes duplicates), tries the transaction and rolls it back. */
async function tryWindow({ db, hold, store, clock }: SearchDeps, window: Window, token: string): Promise<void> {
  if (window.rows.rows > 0) await store.insertBatch(window.rows, token);
  try {
    await db.transaction().execute(async (tx) => {
      await writeWindow(tx, hold, window, clock.now());
      throw new RolledBack();
    });
  } catch (error) {
    if (!(error instanceof RolledBack)) throw error;
  }
}

/** Failures without a single success after which it is the store that fails, not the data. */
const failuresWithoutSuccessMax = 40;
const probesMax = 2000;

type Part = readonly [from: number, to: number];
/** Tries events [from, to) without committing anything. */
type Probe = (from: number, to: number) => Promise<boolean>;

/** The search could not determine which events are poison: most likely none is. */
export class InconclusiveError extends Error {
  override name = 'InconclusiveError';
}

/**
 * Finds the poison events that make a range fail by trying ever smaller parts of it. `probe` tries events [from, to) of the range
 * without committing anything and returns whether they succeeded; it throws when the stores are unavailable.
 *
 * An event is poison only when others of the range succeed: a store that refuses everything has a fault itself, and no event may
 * be set aside because of that.
 */
export async function bisect(count: number, probe: Probe): Promise<readonly number[]> {
  const suspects: number[] = [];
  const open: Part[] = [[0, count]];
  let control: Part | undefined;
  let probes = 0;
  for (let part = open.pop(); part !== undefined && probes < probesMax; part = open.pop()) {
    const [from, to] = part;
    if (from === to) continue;
    probes += 1;
    if (await probe(from, to)) {
      if (control === undefined || to - from < control[1] - control[0]) control = part;
    } else if (to - from === 1) {
      suspects.push(from);
    } else {
      const middle = Math.floor((from + to) / 2);
      open.push([middle, to], [from, middle]);
    }
    if (control === undefined && probes >= failuresWithoutSuccessMax) throw inconclusive(count);
  }
  return confirm(suspects, control, probe, count);
}

/** Confirms suspects, so that a temporary fault of a store condemns no event: it has to fail again while others succeed. */
async function confirm(
  suspects: readonly number[],
  control: Part | undefined,
  probe: Probe,
  count: number,
): Promise<readonly number[]> {
  const poison: number[] = [];
  for (const at of suspects) {
    if (control === undefined) throw inconclusive(count);
    if (await probe(at, at + 1)) continue;
    if (!(await probe(...control))) throw inconclusive(count);
    poison.push(at);
  }
  return poison;
}

function inconclusive(count: number): InconclusiveError {
  return new InconclusiveError(`expected some of ${count} events to be stored, got none; the events wait`);
}
