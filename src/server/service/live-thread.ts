/** The live stream between the pipeline's thread, which sees events, and the main thread, which has the readers. */
import type { Answers, Call } from '../../base/calls.ts';
import type { LiveHub } from '../../pipeline/live/hub.ts';
import type { Sightings, Watch } from '../../pipeline/live/watch.ts';
import type { Log } from '../telemetry/log.ts';

/** Maximum of unacknowledged messages to the main thread. Beyond it only counts are sent, so that memory stays bounded. */
const untakenMax = 8;

/** In the pipeline's thread: fetches current readers, so that they see the first stored window. */
export async function watchesOver(call: Call): Promise<readonly Watch[]> {
  return (await call('watches')) as readonly Watch[];
}

/** In the pipeline's thread: publishes sightings. */
export function publishOver(call: Call, log: Log): (sightings: Sightings) => void {
  let untaken = 0;
  return (sightings) => {
    untaken += 1;
    call('seen', untaken > untakenMax ? countsOf(sightings) : sightings)
      .catch((err: unknown) => log.warn({ err }, 'failed to publish to the live stream'))
      .finally(() => (untaken -= 1));
  };
}

function countsOf({ seen, skipped }: Sightings): Sightings {
  const missed = seen.flatMap(({ stage, watches }) => watches.map((watch) => ({ watch, stage, count: 1 })));
  return { seen: [], skipped: [...skipped, ...missed] };
}

/** In the main thread: receives sightings of the pipeline. */
export function liveAnswers(live: LiveHub): Answers {
  return {
    seen: async (sightings: Sightings) => live.deliver(sightings),
    watches: async () => live.watches(),
  };
}

/** In the main thread: sends every pipeline thread the current readers. */
export function watchedBy(live: LiveHub, log: Log) {
  return (call: Call): (() => void) =>
    live.addSource(async (watches) => {
      await call('watch', watches).catch((err: unknown) =>
        log.warn({ err }, 'failed to sync live-stream subscriptions'),
      );
    });
}
