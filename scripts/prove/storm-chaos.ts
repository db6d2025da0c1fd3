import { setTimeout as sleep } from 'node:timers/promises';
import type { Draw } from '../../test/support/draw.ts';
import type { StormCluster, StormProcess } from './storm-cluster.ts';

export type Mishap = 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'broker' | 'postgres';

export interface Chaos {
  /** Resolves when everything runs again. */
  stop(): Promise<void>;
  readonly counts: Readonly<Record<Mishap, number>>;
}

export interface ChaosOptions {
  readonly draw: Draw;
  /** Mean time between two mishaps, s. Every process that ends costs seconds of a processor to start again. */
  readonly everySeconds: number;
}

/** Short of a lease of a slot, and beyond it, so that a process wakes up that has lost what it worked on. */
const napsMs = [200, 4000] as const;
const longNapsMs = [10_500, 14_000] as const;

/** Random mishaps to random processes, one after the other; stopped ones go on while others happen. */
export function startChaos(
  { broker, postgres }: StormCluster,
  processes: readonly StormProcess[],
  { draw, everySeconds }: ChaosOptions,
): Chaos {
  const counts: Record<Mishap, number> = { SIGKILL: 0, SIGTERM: 0, SIGSTOP: 0, broker: 0, postgres: 0 };
  const paused = new Set<Promise<void>>();
  const over = new AbortController();
  const pipelines = processes.filter(({ roles }) => roles === 'pipeline');
  const hit = async (): Promise<void> => {
    // Half of all, since nobody else writes what is compared.
    const victim = draw.pick(draw.chance(0.5) ? pipelines : processes);
    const mishap = drawMishap(draw);
    counts[mishap] += 1;
    if (mishap === 'broker') return await broker.restart();
    if (mishap === 'postgres') return postgres.restart();
    victim.signal(mishap);
    if (mishap !== 'SIGSTOP') return;
    const [min, max] = draw.chance(0.5) ? napsMs : longNapsMs;
    const pause = rest(min + draw.int(max - min), over.signal).then(() => {
      victim.signal('SIGCONT');
      paused.delete(pause);
    });
    paused.add(pause);
  };
  const working = (async () => {
    while (!over.signal.aborted) {
      await rest(everySeconds * 1000 * (0.4 + draw.int(1200) / 1000), over.signal);
      if (!over.signal.aborted) await hit();
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

function drawMishap(draw: Draw): Mishap {
  const kind = draw.int(100);
  if (kind < 30) return 'SIGKILL';
  if (kind < 45) return 'SIGTERM';
  if (kind < 85) return 'SIGSTOP';
  return kind < 92 ? 'broker' : 'postgres';
}

/** Ends early when all is over. */
async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
