import { lanes, type EventLogReader, type Lane, type StoredRecord } from '../../log/eventlog.ts';
import { hasPart, slotOf } from '../../log/slot-of.ts';
import { sharedAnswer } from '../../base/shared-answer.ts';
import { RowMemory } from '../../stores/events/rows.ts';
import { Tap } from '../live/tap.ts';
import type { Sightings, Watch } from '../live/watch.ts';
import { dueRebuilds } from '../../stores/metadata/profile-rebuilds.ts';
import { holdSlot, type SlotHold } from '../../stores/metadata/slot-leases.ts';
import { refusedStorage } from '../../plugins/services/refused-storage.ts';
import { WindowStorage } from '../../plugins/services/window-storage.ts';
import { sharedConfigReads, type ConfigReads } from '../transform/config-reads.ts';
import { createFailureLogs } from '../failure-log.ts';
import { gapMsDefault, startPipeline, type Siblings, type Pipeline, type PipelineDeps } from '../consumer.ts';
import type { Metadata } from '../../stores/metadata/database.ts';

type SharedDeps = Omit<PipelineDeps, 'hold' | 'reader' | 'pluginStorage' | 'live' | 'gapMs' | 'siblings' | 'signal'>;

export interface SlotConsumersDeps extends SharedDeps {
  /** Total number of slots. */
  readonly slots: number;
  /** Opens the reader of one slot; closed with its consumer. */
  readonly openReader: (slot: number) => Promise<EventLogReader>;
  /** Publishes sightings to readers of the live stream. Default: no readers. */
  readonly publish?: (sightings: Sightings) => void;
}

/** The consumers of one process, one per slot that it holds, and their shared state. */
export interface SlotConsumers {
  start(hold: SlotHold): Promise<Pipeline>;
  /** Returns the storage of a config as the consumer of its slot sees it. */
  storageOf(configId: number, projectId: number): ReturnType<WindowStorage['of']>;
  /** Sets the current watches of the live stream. */
  watch(watches: readonly Watch[]): void;
}

/** How long consumers share an answer of the store, ms: they see a change of configuration that much later. */
const staleMs = 250;
const rebuildPollMs = 1000;
/** Large windows in memory, of all slots together. */
const largeWindowsMax = 4;
/**
 * With more slots than this, each pauses longer between small inserts, so that the store gets no more of them. All slots count, not
 * those of the process: the number of inserts does not depend on the number of processes.
 */
const slotsAtFullPace = 8;
/** For all slots of a cluster together. */
export const smallInsertsPerSecondMax = (slotsAtFullPace * 1000) / gapMsDefault;

interface Member {
  readonly storage: WindowStorage;
  readonly tap: Tap;
  readonly lags: Record<Lane, number>;
}

export function createSlotConsumers(deps: SlotConsumersDeps): SlotConsumers {
  const { db, slots } = deps;
  const members = new Map<number, Member>();
  const open = readerOpener(deps);
  // The log of one machine has a single consumer.
  const shared = slots === 1 ? undefined : createShared(deps, members);
  let watches: readonly Watch[] = [];

  return {
    start: async (hold) => {
      const { reader, release } = await open(hold);
      const member: Member = { storage: new WindowStorage(db), tap: new Tap(), lags: { live: 0, historical: 0 } };
      member.tap.watch(watches);
      members.set(hold.slot, member);
      const pipeline = startPipeline({
        ...deps,
        hold,
        reader,
        pluginStorage: member.storage,
        ...(shared && { gapMs: shared.gapMs, siblings: shared.siblingsOf(hold.slot, member, release) }),
        ...(deps.publish && { live: { tap: member.tap, publish: deps.publish } }),
      });
      const done = pipeline.done.finally(async () => {
        if (members.get(hold.slot) === member) members.delete(hold.slot);
        shared?.showLags();
        await reader.close();
      });
      const stop = (): Promise<void> => {
        void pipeline.stop();
        return done;
      };
      return { done, stop, status: pipeline.status };
    },
    storageOf: (configId, projectId) => {
      if (shared?.isSpread(projectId) === true) return refusedStorage;
      const member = members.get(slotOf(projectId, slots));
      if (member === undefined) throw new Error('storage: the slot of the project is held by another process');
      return member.storage.of(configId, projectId);
    },
    watch: (now) => {
      watches = now;
      for (const { tap } of members.values()) tap.watch(watches);
    },
  };
}

interface OpenedReader {
  readonly reader: EventLogReader;
  /** Ends the turns of the reader, so that other consumers can read. */
  readonly release: () => void;
}

function readerOpener({ db, slots, openReader }: SlotConsumersDeps): (hold: SlotHold) => Promise<OpenedReader> {
  const turns = createTurns(largeWindowsMax);
  return async (hold) => {
    const reader = await openReader(hold.slot);
    if (slots === 1) return { reader, release: () => undefined };
    try {
      await keepLog(db, hold, reader.id);
    } catch (error) {
      await reader.close();
      throw error;
    }
    const inTurns = readInTurns(reader, turns);
    return { reader: inTurns, release: () => inTurns.release() };
  };
}

/** Creates the state that consumers of one process share. */
function createShared({ db, log, clock, metrics, slots }: SlotConsumersDeps, members: ReadonlyMap<number, Member>) {
  // For each large window one batch is written while another is inserted.
  const rowMemory = new RowMemory(largeWindowsMax * 2);
  const reads = sharedConfigReads(db, staleMs);
  let spread: ReadonlySet<number> = new Set();
  const configs: ConfigReads = {
    ...reads,
    configs: async (revision) => {
      const found = await reads.configs(revision);
      spread = new Set(found.filter((config) => config.spread > 1).map(({ projectId }) => projectId));
      return found;
    },
  };
  const failures = createFailureLogs(log, clock);
  const due = sharedAnswer(rebuildPollMs, () => dueRebuilds(db));
  const count = (): number => Math.max(1, members.size);
  const showLag = (lane: Lane): void => {
    const worst = Math.max(0, ...[...members.values()].map(({ lags }) => lags[lane]));
    metrics.set('millrace_source_lag_seconds', { lane }, worst);
  };
  return {
    gapMs: gapMsDefault * Math.ceil(slots / slotsAtFullPace),
    /** Whether a project with transformations is spread, as they were last read. */
    isSpread: (projectId: number): boolean => spread.has(projectId),
    showLags: (): void => lanes.forEach(showLag),
    siblingsOf: (slot: number, { lags }: Member, release: () => void): Siblings => ({
      count,
      rowMemory,
      owns: (projectId) => slotOf(projectId, slots) === slot,
      serves: (project) => hasPart(slot, project, slots),
      configs,
      dueRebuilds: due,
      failures,
      release,
      reportLag: (lane, seconds) => {
        lags[lane] = seconds;
        showLag(lane);
      },
    }),
  };
}

/** The cursors of a slot refer to another log: records of this one would be skipped up to the cursors. */
export class OtherLogError extends Error {
  override name = 'OtherLogError';
}

/**
 * Ensures that the cursors of a slot refer to the log of its reader. A slot whose cursors are at the start accepts any log and keeps it
 * from then on.
 *
 * @throws OtherLogError, SlotLostError
 */
export async function keepLog(db: Metadata, hold: SlotHold, logId: string): Promise<void> {
  const { slot } = hold;
  await db.transaction().execute(async (tx) => {
    await holdSlot(tx, hold);
    const { log } = await tx.selectFrom('slots').select('log').where('slot', '=', slot).executeTakeFirstOrThrow();
    if (log === logId) return;
    const begun = await tx
      .selectFrom('log_cursors')
      .select('seq')
      .where('slot', '=', slot)
      .where('seq', '>', 0)
      .execute();
    if (log !== null && begun.length > 0) {
      throw new OtherLogError(
        `expected slot ${slot} of the log ${log}, where its cursors are, got that of ${logId}: the topics were recreated. ` +
          'Restore the old ones; if their records are lost, see "A new log" in the guide to operations',
      );
    }
    await tx.updateTable('slots').set({ log: logId }).where('slot', '=', slot).execute();
    await tx.deleteFrom('log_marks').where('slot', '=', slot).execute();
  });
}

/** Body bytes of a small read: any number of them may be in memory. */
const smallBytes = 256 * 1024;

/** Limits concurrency; waiters are served in order. */
export interface Turns {
  /** Resolves with a function that ends the turn. */
  take(): Promise<() => void>;
}

export function createTurns(max: number): Turns {
  const waiting: ((turn: () => void) => void)[] = [];
  let left = max;
  const newTurn = (): (() => void) => {
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      const next = waiting.shift();
      if (next === undefined) left += 1;
      else next(newTurn());
    };
  };
  return {
    take: async () => {
      if (left === 0) return await new Promise<() => void>((resolve) => waiting.push(resolve));
      left -= 1;
      return newTurn();
    },
  };
}

interface Turn {
  /** Seq after which the read began. */
  readonly from: number;
  readonly end: () => void;
}

interface TurnReader extends EventLogReader {
  /**
   * Ends its turns although the records are not stored: storing failed, and they will be read again. A consumer that waits for the next
   * turn while it has one would otherwise wait for itself.
   */
  release(): void;
}

/**
 * Wraps a reader that shares a process with many others: a large read waits for its turn, which lasts until the events are stored, so
 * that only a few large windows are in memory, however many slots lag.
 */
export function readInTurns(reader: EventLogReader, turns: Turns): TurnReader {
  const open: Record<Lane, Turn[]> = { live: [], historical: [] };
  const isLarge: Record<Lane, boolean> = { live: false, historical: false };

  const endTurns = (lane: Lane, isDone: (turn: Turn) => boolean): void => {
    for (const turn of open[lane]) if (isDone(turn)) turn.end();
    open[lane] = open[lane].filter((turn) => !isDone(turn));
  };
  const endAll = (): void => {
    for (const lane of lanes) endTurns(lane, () => true);
  };
  const takeTurn = async (lane: Lane, from: number): Promise<void> => {
    // The same range again.
    if (open[lane].some((turn) => turn.from === from)) return;
    const end = await turns.take();
    // Only now: turns may have ended in the meantime, which replaces the list.
    open[lane].push({ from, end });
  };

  return {
    id: reader.id,
    read: async (lane, afterSeq, limits) => {
      if (!isLarge[lane]) {
        const bytes = Math.min(limits.bytes, smallBytes);
        const found = await reader.read(lane, afterSeq, { ...limits, bytes });
        isLarge[lane] = bytes < limits.bytes && bytesOf(found) >= bytes;
        if (!isLarge[lane]) return found;
      }
      await takeTurn(lane, afterSeq);
      const found = await reader.read(lane, afterSeq, limits);
      isLarge[lane] = bytesOf(found) >= smallBytes;
      if (!isLarge[lane]) endTurns(lane, ({ from }) => from === afterSeq);
      return found;
    },
    commit: (lane, seq) => {
      endTurns(lane, ({ from }) => from < seq);
      reader.commit(lane, seq);
    },
    waitForAppend: (timeoutMs) => reader.waitForAppend(timeoutMs),
    release: endAll,
    close: async () => {
      endAll();
      await reader.close();
    },
  };
}

function bytesOf(records: readonly StoredRecord[]): number {
  let bytes = 0;
  for (const record of records)
    bytes += record.damaged === undefined ? record.body.byteLength : record.bytes.byteLength;
  return bytes;
}
