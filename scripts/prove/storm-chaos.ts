import { setTimeout as sleep } from 'node:timers/promises';
import type { Draw } from '../../test/support/draw.ts';
import type { StormCluster, StormProcess } from './storm-cluster.ts';

export type Mishap = 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'broker' | 'postgres';

export interface Chaos {
  /** Resolves when everything runs again. */
  stop(): Promise<void>;
  readonly counts: Readonly<Record<Mishap, number>>;
}

const restMsMin = 400;
const restMsMax = 2500;
/** Some beyond the lease of a slot, so that a process wakes up that has lost what it worked on. */
const stopMsMax = 14_000;

/** Random mishaps to random processes, one after the other; stopped ones go on while others happen. */
export function startChaos(cluster: StormCluster, processes: readonly StormProcess[], draw: Draw): Chaos {
  const counts: Record<Mishap, number> = { SIGKILL: 0, SIGTERM: 0, SIGSTOP: 0, broker: 0, postgres: 0 };
  const paused = new Set<Promise<void>>();
  const over = new AbortController();
  const hit = async (): Promise<void> => {
    const victim = draw.pick(processes);
    const mishap = drawMishap(draw);
    counts[mishap] += 1;
    if (mishap === 'broker') return await cluster.broker.restart();
    if (mishap === 'postgres') return cluster.postgres.restart();
    victim.signal(mishap);
    if (mishap !== 'SIGSTOP') return;
    const pause = sleep(200 + draw.int(stopMsMax)).then(() => {
      victim.signal('SIGCONT');
      paused.delete(pause);
    });
    paused.add(pause);
  };
  const working = (async () => {
    while (!over.signal.aborted) {
      await sleep(restMsMin + draw.int(restMsMax - restMsMin));
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
  if (kind < 40) return 'SIGKILL';
  if (kind < 55) return 'SIGTERM';
  if (kind < 86) return 'SIGSTOP';
  return kind < 93 ? 'broker' : 'postgres';
}
