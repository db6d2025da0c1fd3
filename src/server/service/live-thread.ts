/** The live stream between the pipeline's thread, where events are seen, and the main thread, where they are read. */
import type { Answers, Call } from '../../base/calls.ts';
import type { LiveHub } from '../../pipeline/live/hub.ts';
import type { Sightings, Watch } from '../../pipeline/live/watch.ts';
import type { Log } from '../telemetry/log.ts';

/** Messages that the main thread has not taken yet. Beyond, only counts go: a busy main thread must not fill the memory. */
const untakenMax = 8;

/** The pipeline's side: who watches already, so that they see the first window that is stored. */
export async function watchesOver(call: Call): Promise<readonly Watch[]> {
  return (await call('watches')) as readonly Watch[];
}

/** The pipeline's side: what they are shown. */
export function publishOver(call: Call, log: Log): (sightings: Sightings) => void {
  let untaken = 0;
  return (sightings) => {
    untaken += 1;
    call('seen', untaken > untakenMax ? countsOf(sightings) : sightings)
      .catch((err: unknown) => log.warn({ err }, 'readers of the live stream missed something'))
      .finally(() => (untaken -= 1));
  };
}

function countsOf({ seen, skipped }: Sightings): Sightings {
  const missed = seen.flatMap(({ stage, watches }) => watches.map((watch) => ({ watch, stage, count: 1 })));
  return { seen: [], skipped: [...skipped, ...missed] };
}

/** The main thread's side: what the pipeline tells. */
export function liveAnswers(live: LiveHub): Answers {
  return {
    seen: async (sightings: Sightings) => live.deliver(sightings),
    watches: async () => live.watches(),
  };
}

/** The main thread's side: every thread of the pipeline is told who watches. */
export function watchedBy(live: LiveHub, log: Log) {
  return (call: Call): (() => void) =>
    live.addSource(async (watches) => {
      await call('watch', watches).catch((err: unknown) => log.warn({ err }, 'the pipeline was not told who watches'));
    });
}
