import { setTimeout as sleep } from 'node:timers/promises';
import type { Draw } from '../../test/support/draw.ts';
import type { StormCluster, StormProcess } from './storm-cluster.ts';

/** `inside`: a SIGSTOP that hit a pipeline within a transaction about a range of the log. */
export type Mishap = 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'inside' | 'broker' | 'postgres';

export interface Chaos {
  /** Resolves when everything runs again. */
  stop(): Promise<void>;
  readonly counts: Readonly<Record<Mishap, number>>;
}

export interface ChaosOptions {
  readonly draw: Draw;
  /** Mean time between two mishaps, s. Every process that ends costs seconds of a processor to start again. */
  readonly everySeconds: number;
  /** Whether the process, which stands still, is within a transaction about a range of the log. */
  readonly isInside: (victim: StormProcess) => Promise<boolean>;
}

/**
 * Short of a lease of a slot; beyond it, so that a process wakes up that has lost what it worked on; and, for one that was hit inside
 * a transaction, so far beyond that another has begun on its slot and has computed a window of its own.
 */
const naps = { short: [200, 4000], long: [10_500, 14_000], inside: [15_000, 20_000] } as const;
const aimsMax = 200;
const aimMs = 15;

/** Random mishaps to random processes, one after the other; stopped ones go on while others happen. */
export function startChaos(
  cluster: StormCluster,
  processes: readonly StormProcess[],
  { draw, everySeconds, isInside }: ChaosOptions,
): Chaos {
  const counts: Record<Mishap, number> = { SIGKILL: 0, SIGTERM: 0, SIGSTOP: 0, inside: 0, broker: 0, postgres: 0 };
  const paused = new Set<Promise<void>>();
  const over = new AbortController();
  const pipelines = processes.filter(({ roles }) => roles === 'pipeline');
  const wakeAfter = (victim: StormProcess, ms: number): void => {
    const pause = rest(ms, over.signal).then(() => {
      victim.signal('SIGCONT');
      victim.note('SIGCONT');
      paused.delete(pause);
    });
    paused.add(pause);
  };
  /** Stops it again and again until it is inside. */
  const aim = async (victim: StormProcess): Promise<boolean> => {
    for (let aims = 0; aims < aimsMax && !over.signal.aborted; aims += 1) {
      victim.signal('SIGSTOP');
      if (await isInside(victim)) return true;
      victim.signal('SIGCONT');
      await sleep(draw.int(aimMs));
    }
    victim.signal('SIGSTOP');
    return false;
  };
  const nap = async (victim: StormProcess): Promise<Mishap> => {
    const isAimed = victim.roles === 'pipeline' && draw.chance(0.5);
    if (!isAimed) victim.signal('SIGSTOP');
    const hit = isAimed && (await aim(victim));
    const [min, max] = naps[hit ? 'inside' : draw.chance(0.5) ? 'short' : 'long'];
    wakeAfter(victim, min + draw.int(max - min));
    return hit ? 'inside' : 'SIGSTOP';
  };
  const befall = async (mishap: Exclude<Mishap, 'inside'>): Promise<Mishap> => {
    if (mishap === 'broker') await cluster.broker.restart();
    else if (mishap === 'postgres') cluster.postgres.restart();
    else {
      // Half of all, since nobody else writes what is compared.
      const victim = draw.pick(draw.chance(0.5) ? pipelines : processes);
      victim.note(mishap);
      if (mishap === 'SIGSTOP') return await nap(victim);
      victim.signal(mishap);
    }
    return mishap;
  };
  const working = (async () => {
    while (!over.signal.aborted) {
      await rest(everySeconds * 1000 * (0.4 + draw.int(1200) / 1000), over.signal);
      if (!over.signal.aborted) counts[await befall(drawMishap(draw))] += 1;
    }
  })();
  return {
    counts,
    stop: async () => {
      over.abort();
      await working;
      await Promise.all(paused);
    },
  };
}

function drawMishap(draw: Draw): Exclude<Mishap, 'inside'> {
  const kind = draw.int(100);
  if (kind < 27) return 'SIGKILL';
  if (kind < 42) return 'SIGTERM';
  if (kind < 85) return 'SIGSTOP';
  return kind < 92 ? 'broker' : 'postgres';
}

/** Ends early when all is over. */
async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
