import { lanes, type Lane } from '../../log/eventlog.ts';
import { eventLogPositions } from './stores.ts';

/** Age of a lane's oldest record, in seconds. Records present at the start count from then on. */
export interface BacklogAges {
  seconds(lane: Lane): number;
}

/** All records up to `appended` were in the log at `at`. */
interface Mark {
  readonly appended: number;
  /** ms, monotonic. */
  readonly at: number;
}

const pollMs = 1000;
/** Above this number, every other mark is dropped: the longer the wait, the less precision matters. */
const marksMax = 3600;

/** Polls the ends of the lanes once a second, so that capture need not record anything. */
export async function startBacklogAges(shared: SharedArrayBuffer, parts: AsyncDisposableStack): Promise<BacklogAges> {
  const positions = await eventLogPositions(shared);
  const marks: Record<Lane, Mark[]> = { live: [], historical: [] };
  const poll = (lane: Lane): void => {
    const appended = positions.appended(lane);
    const waiting = marks[lane].filter((mark) => mark.appended > positions.consumed(lane));
    if (appended > (waiting.at(-1)?.appended ?? positions.consumed(lane))) {
      waiting.push({ appended, at: performance.now() });
    }
    marks[lane] = waiting.length > marksMax ? waiting.filter((_, index) => index % 2 === 0) : waiting;
  };
  const timer = setInterval(() => lanes.forEach(poll), pollMs).unref();
  parts.defer(() => clearInterval(timer));
  return {
    seconds: (lane) => {
      poll(lane);
      const [oldest] = marks[lane];
      return oldest === undefined ? 0 : Math.round((performance.now() - oldest.at) / 1000);
    },
  };
}
