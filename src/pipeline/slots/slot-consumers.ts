import { lanes, type EventLogReader, type Lane } from '../../log/eventlog.ts';
import { hasPart, slotOf } from '../../log/slot-of.ts';
import { sharedAnswer } from '../../base/shared-answer.ts';
import { RowMemory } from '../../stores/events/rows.ts';
import { Tap } from '../live/tap.ts';
import type { Sightings, Watch } from '../live/watch.ts';
import { dueRebuilds } from '../../stores/metadata/profile-rebuilds.ts';
import type { SlotHold } from '../../stores/metadata/slots.ts';
import { refusedStorage } from '../../plugins/services/refused-storage.ts';
import { WindowStorage } from '../../plugins/services/window-storage.ts';
import { sharedConfigReads, type ConfigReads } from '../transform/config-reads.ts';
import { createFailureLogs } from '../failure-log.ts';
import { gapMsDefault, startPipeline, type Fellows, type Pipeline, type PipelineDeps } from '../consumer.ts';
import { keepLog } from './keep-log.ts';
import { createTurns, readInTurns } from './large-reads.ts';

type SharedDeps = Omit<PipelineDeps, 'hold' | 'reader' | 'pluginStorage' | 'live' | 'gapMs' | 'fellows' | 'signal'>;

export interface SlotConsumersDeps extends SharedDeps {
  /** How many there are in all. */
  readonly slots: number;
  /** The reader of one slot; closed with its consumer. */
  readonly openReader: (slot: number) => Promise<EventLogReader>;
  /** Shows readers of the live stream what was seen. Default: nobody looks. */
  readonly publish?: (sightings: Sightings) => void;
}

/** The consumers of one process, one for each slot that it holds, and what they share. */
export interface SlotConsumers {
  start(hold: SlotHold): Promise<Pipeline>;
  /** What the plugins of a project keep, as its slot's consumer sees it. */
  storageOf(configId: number, projectId: number): ReturnType<WindowStorage['of']>;
  /** Who watches the live stream from now on. */
  watch(watches: readonly Watch[]): void;
}

/** How long what all of them ask for is the same for all, ms: they see a change of configuration so much later. */
const staleMs = 250;
const rebuildLookMs = 1000;
/** Large windows of all slots in memory. */
const largeWindowsMax = 4;
/**
 * Where there are more slots than this, each rests longer between small inserts, so that the store gets no more of them. All slots
 * count, not those of the process: how many inserts come does not depend on how many processes there are.
 */
const slotsAtFullPace = 8;
/** Of all slots of a cluster together. */
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
  // The log of one machine: there is nobody to share with.
  const shared = slots === 1 ? undefined : sharedBy(deps, members);
  let watches: readonly Watch[] = [];

  return {
    start: async (hold) => {
      const { reader, letGo } = await open(hold);
      const member: Member = { storage: new WindowStorage(db), tap: new Tap(), lags: { live: 0, historical: 0 } };
      member.tap.watch(watches);
      members.set(hold.slot, member);
      const pipeline = startPipeline({
        ...deps,
        hold,
        reader,
        pluginStorage: member.storage,
        ...(shared && { gapMs: shared.gapMs, fellows: shared.fellowsOf(hold.slot, member, letGo) }),
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
      if (member === undefined) throw new Error('storage: the slot of the project has gone to another process');
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
  /** Others may read. */
  readonly letGo: () => void;
}

function readerOpener({ db, slots, openReader }: SlotConsumersDeps): (hold: SlotHold) => Promise<OpenedReader> {
  const turns = createTurns(largeWindowsMax);
  return async (hold) => {
    const reader = await openReader(hold.slot);
    if (slots === 1) return { reader, letGo: () => undefined };
    try {
      await keepLog(db, hold, reader.id);
    } catch (error) {
      await reader.close();
      throw error;
    }
    const inTurns = readInTurns(reader, turns);
    return { reader: inTurns, letGo: () => inTurns.letGo() };
  };
}

/** What many consumers of one process have in common. */
function sharedBy({ db, log, clock, metrics, slots }: SlotConsumersDeps, members: ReadonlyMap<number, Member>) {
  // Of each large window one batch is written while another is inserted.
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
  const due = sharedAnswer(rebuildLookMs, () => dueRebuilds(db));
  const count = (): number => Math.max(1, members.size);
  const showLag = (lane: Lane): void => {
    const worst = Math.max(0, ...[...members.values()].map(({ lags }) => lags[lane]));
    metrics.set('millrace_source_lag_seconds', { lane }, worst);
  };
  return {
    gapMs: gapMsDefault * Math.ceil(slots / slotsAtFullPace),
    /** A project with transformations, as they were last read. */
    isSpread: (projectId: number): boolean => spread.has(projectId),
    showLags: (): void => lanes.forEach(showLag),
    fellowsOf: (slot: number, { lags }: Member, letGo: () => void): Fellows => ({
      count,
      rowMemory,
      owns: (projectId) => slotOf(projectId, slots) === slot,
      serves: (project) => hasPart(slot, project, slots),
      configs,
      dueRebuilds: due,
      failures,
      letGo,
      lags: (lane, seconds) => {
        lags[lane] = seconds;
        showLag(lane);
      },
    }),
  };
}
