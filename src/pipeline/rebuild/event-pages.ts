import type { Arrival, ArrivalPage, ProfileEvent } from '../../stores/events/profile-reads.ts';

const firstEvents = 500;
const eventsMin = 100;
const eventsMax = 20_000;
/** Characters of the properties of a page. */
const charsWanted = 16 * 1024 * 1024;

/**
 * Reads events in the order of arrival. Each page reads all events of the project, so pages are as large as memory allows: the
 * next one follows from the size of the events in the one before.
 */
export async function* eventPages(
  read: (page: Pick<ArrivalPage, 'after' | 'limit'>) => Promise<ProfileEvent[]>,
): AsyncGenerator<ProfileEvent> {
  let limit = firstEvents;
  for (let after: Arrival | undefined; ;) {
    const page = await read({ after, limit });
    yield* page;
    if (page.length < limit) return;
    after = page.at(-1);
    limit = nextLimit(page);
  }
}

function nextLimit(page: readonly ProfileEvent[]): number {
  const chars = page.reduce((sum, { properties }) => sum + properties.length, 0);
  const fitting = Math.floor((charsWanted * page.length) / Math.max(1, chars));
  return Math.min(eventsMax, Math.max(eventsMin, fitting));
}
