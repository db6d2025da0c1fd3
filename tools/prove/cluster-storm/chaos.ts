import { setTimeout as sleep } from 'node:timers/promises';
import type { Draw } from '../../../test/support/draw.ts';
import type { StormCluster, StormProcess } from './cluster.ts';

/** `inside`: a SIGSTOP that hit a pipeline within the transaction that records the end of a range of the log. */
export type Mishap = 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'inside' | 'broker' | 'postgres';

export interface Chaos {
  /** Resolves when everything runs again. */
  stop(): Promise<void>;
  readonly counts: Readonly<Record<Mishap, number>>;
}

export interface ChaosOptions {
  readonly draw: Draw;
  /** Mean time between two mishaps, s. Restarting a process takes seconds of CPU time. */
  readonly everySeconds: number;
  /** Whether the suspended process is within the transaction that records the end of a range of the log. */
  readonly isInside: (victim: StormProcess) => Promise<boolean>;
  /** Whether the process, suspended inside a transaction, prevents another one from recording the end of a range. */
  readonly isAwaited: (victim: StormProcess) => Promise<boolean>;
}

/**
 * Durations in ms: shorter than a lease; longer, so that a process resumes after it has lost its slots; and for one that is inside a
 * transaction long enough for another process to claim its slot and compute its own window, or until that one waits for it, which can
 * only happen without the fence.
 */
const naps = { short: [200, 4000], long: [10_500, 14_000], inside: [30_000, 45_000] } as const;
const pollMs = 250;
const aimsMax = 200;
const aimMs = 15;

/** Causes random faults in random processes, one after the other; paused ones resume while others happen. */
export function startChaos(
  cluster: StormCluster,
  processes: readonly StormProcess[],
  { draw, everySeconds, isInside, isAwaited }: ChaosOptions,
): Chaos {
  const counts: Record<Mishap, number> = { SIGKILL: 0, SIGTERM: 0, SIGSTOP: 0, inside: 0, broker: 0, postgres: 0 };
  const over = new AbortController();
  const sleepers = createSleepers(draw, isAwaited, over.signal);
  const pipelines = processes.filter(({ roles }) => roles === 'pipeline');
  /** Stops pipelines in turn, for a moment each, until one is inside. */
  const aim = async (): Promise<StormProcess | undefined> => {
    for (let aims = 0; aims < aimsMax && !over.signal.aborted; aims += 1) {
      const victim = draw.pick(sleepers.awake(pipelines));
      victim.signal('SIGSTOP');
      if (await isInside(victim)) return victim;
      victim.signal('SIGCONT');
      await sleep(draw.int(aimMs));
    }
    return undefined;
  };
  const stop = (victim: StormProcess): void => {
    victim.signal('SIGSTOP');
    sleepers.add(victim, draw.chance(0.5) ? 'short' : 'long');
  };
  const befall = async (mishap: Mishap): Promise<Mishap | undefined> => {
    if (mishap === 'broker') await cluster.broker.restart();
    else if (mishap === 'postgres') cluster.postgres.restart();
    else if (mishap === 'inside') {
      // A process must be left to take over the slot.
      const victim = sleepers.awake(pipelines).length > 1 ? await aim() : undefined;
      if (victim === undefined) return undefined;
      sleepers.add(victim, 'inside');
    } else {
      // Half of all, since no other process writes the compared data. A paused process is left to resume.
      const some = sleepers.awake(draw.chance(0.5) ? pipelines : processes);
      if (some.length === 0) return undefined;
      const victim = draw.pick(some);
      if (mishap === 'SIGSTOP') stop(victim);
      else {
        victim.note(mishap);
        victim.signal(mishap);
      }
    }
    return mishap;
  };
  const working = (async () => {
    while (!over.signal.aborted) {
      await rest(everySeconds * 1000 * (0.4 + draw.int(1200) / 1000), over.signal);
      const befallen = over.signal.aborted ? undefined : await befall(drawMishap(draw));
      if (befallen !== undefined) counts[befallen] += 1;
    }
  })();
  return {
    counts,
    stop: async () => {
      over.abort();
      await working;
      await sleepers.allAwake();
    },
  };
}

/** Suspended processes; `over` resumes all of them. */
function createSleepers(draw: Draw, isAwaited: ChaosOptions['isAwaited'], over: AbortSignal) {
  const napping = new Map<StormProcess, Promise<void>>();
  return {
    awake: (some: readonly StormProcess[]): StormProcess[] => some.filter((each) => !napping.has(each)),
    /** A paused process, to be resumed later. */
    add: (victim: StormProcess, kind: keyof typeof naps): void => {
      const [min, max] = naps[kind];
      victim.note(kind === 'inside' ? 'SIGSTOP inside a transaction' : 'SIGSTOP');
      const ms = min + draw.int(max - min);
      const asleep = kind === 'inside' ? restUntil(() => isAwaited(victim), ms, over) : rest(ms, over);
      const nap = asleep.then(() => {
        victim.signal('SIGCONT');
        victim.note('SIGCONT');
        napping.delete(victim);
      });
      napping.set(victim, nap);
    },
    allAwake: async (): Promise<void> => void (await Promise.all(napping.values())),
  };
}

/** Percentages. */
const frequencies: readonly (readonly [Mishap, number])[] = [
  ['SIGKILL', 22],
  ['SIGTERM', 13],
  ['SIGSTOP', 20],
  ['inside', 30],
  ['broker', 7],
  ['postgres', 8],
];

function drawMishap(draw: Draw): Mishap {
  let drawn = draw.int(100);
  for (const [mishap, times] of frequencies) {
    if (drawn < times) return mishap;
    drawn -= times;
  }
  throw new Error('expected the frequencies to be a hundred together');
}

/** Waits for `ms`, or until the condition holds or the signal is aborted. */
async function restUntil(isSo: () => Promise<boolean>, ms: number, signal: AbortSignal): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end && !signal.aborted; await rest(pollMs, signal)) {
    if (await isSo()) return;
  }
}

/** Waits for `ms`, or until the signal is aborted. */
async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
