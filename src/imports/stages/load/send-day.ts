import { integer } from '../../../base/integer-text.ts';
import { fieldWords } from '../../run/advice-words.ts';
import { rejectedShare } from '../../run/check-problems.ts';
import type { StoredDay } from '../../run/import-day.ts';
import { RunFailedError } from '../../run/leased-run.ts';
import { deliverFrame, loadRejectedPrefix, type DeliveredFrame } from './deliver-frame.ts';
import { inOrder } from './in-order.ts';
import { commitFrames, createDue, type Doubt, type Load } from './load.ts';
import { readFrames } from './read-table.ts';

/**
 * Sends a day frame by frame. What the target acknowledged is committed in order, so that after a crash the frames beyond the cursor
 * are few: the target is asked for those, and gets only what it lacks.
 */
export async function sendDay(load: Load, day: StoredDay, doubt: Doubt): Promise<void> {
  const { staging, run, inFlight } = load;
  const first = day.framesLoaded;
  if (doubt !== 'none' && first === 0) await staging.remove(loadRejectedPrefix(run, day.day));
  const underWayMax = commitFrames + inFlight;
  const doubtful = { none: 0, attached: 0, 'beyond-cursor': first + underWayMax, all: day.frames }[doubt];
  const cursor = createCursor(load, day, doubt);
  const oneByOne = createSequence();
  await inOrder(readFrames(load, day, first), {
    max: inFlight,
    work: (frame) => {
      const deliver = (): Promise<DeliveredFrame> => deliverFrame(load, frame, frame.index < doubtful);
      return frame.merges ? oneByOne(deliver) : deliver();
    },
    done: (delivered) => cursor.add(delivered),
    onFailure: load.stop,
  });
  await cursor.commit(day.frames);
}

/**
 * Of frames that are under way at once any may arrive first, and a device would belong to the user whose frame did: those that merge
 * persons wait for each other.
 */
function createSequence(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result;
    return result;
  };
}

interface Cursor {
  add(delivered: DeliveredFrame): Promise<void>;
  commit(framesLoaded: number): Promise<void>;
}

function createCursor(load: Load, day: StoredDay, doubt: Doubt): Cursor {
  const { clock, failpoint, save } = load;
  let { framesLoaded } = day;
  // Without frames, those are events that were let in to be attached.
  let { accepted, rejected } = framesLoaded === 0 ? { accepted: 0, rejected: 0 } : day;
  let committed = framesLoaded;
  const due = createDue(clock);
  const commit = async (upTo: number): Promise<void> => {
    framesLoaded = upTo;
    if (framesLoaded === committed) return;
    failpoint('import_load_delivered');
    await save(day, { framesLoaded, accepted, rejected });
    failpoint('import_load_committed');
    committed = framesLoaded;
    due.written();
    assertFewRejected(load);
  };
  return {
    add: async (delivered) => {
      accepted += delivered.accepted;
      rejected += delivered.rejected;
      framesLoaded = delivered.index + 1;
      // Until it is done, a day that may be attached looks as if nothing were sent of it: so it is known to be one.
      if (doubt !== 'attached' && due.isDue(framesLoaded - committed)) await commit(framesLoaded);
    },
    commit,
  };
}

function assertFewRejected({ check, progress, leased, words = fieldWords }: Load): void {
  const { rejectedMax } = leased.run.options;
  const rejected = progress.rejected();
  const share = rejectedShare({ ...check.totals, rejected });
  if (share <= rejectedMax) return;
  const enough = Math.min(1, Math.ceil(share * 10_000) / 10_000);
  throw new RunFailedError(
    `${integer(rejected)} of ${integer(check.totals.records)} records were rejected by the check or the target; ${words.rejectedMax} allows ` +
      `${Number((rejectedMax * 100).toPrecision(3))} %. Read the rejected records (their codes say why). Then ` +
      `${words.leaveOut(enough)} to leave them out, or ${words.startAnew}.`,
  );
}
