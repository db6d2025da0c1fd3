import { isAdmitted, type StoredDay } from '../../run/import-day.ts';
import type { TableTarget } from '../../target.ts';
import { withoutStored } from './deliver-frame.ts';
import { createDue, type Load } from './load.ts';
import { readFrames } from './read-table.ts';

/** Events that are let in at once, at most. */
const pieceEventsMax = 1000;

/**
 * Lets the events of a month in and attaches its rows; what they say of persons and groups is to be delivered yet. Each step may be
 * repeated; how much was let in is kept in `accepted` of the days. False: something looks at events on their way now, so that they are
 * to be sent.
 */
export async function attachMonth(
  load: Load,
  tables: TableTarget,
  month: number,
  days: readonly StoredDay[],
): Promise<boolean> {
  const { leased, retry, signal, failpoint, save, pending } = load;
  const isOpen = (): Promise<boolean> => retry(() => tables.isOpen(signal));
  if (!(await isOpen())) return false;
  if (!days.every(isAdmitted)) {
    const last = await admitDays(load, tables, days);
    // Letting in may have taken hours. Only then the last day is saved: where all days are admitted, they may be attached.
    if (!(await isOpen())) return false;
    await save(last, { accepted: last.events });
    // From now on its events count as loaded: whoever cancels the run must know that they may be there.
    await leased.flush();
  }
  failpoint('import_month_admitted');
  if (!(await retry(() => tables.attach(month, signal)))) return false;
  failpoint('import_month_attached');
  await pending.save({ months: [...pending.current.months, month], slicesDone: 0 });
  return true;
}

/** Saves each day but the last, which it returns. */
async function admitDays(load: Load, tables: TableTarget, days: readonly StoredDay[]): Promise<StoredDay> {
  const { clock, failpoint, retry, save, signal, speed } = load;
  const due = createDue(clock);
  let pieces = 0;
  for (const day of days) {
    for await (const { upTo, missing } of eventsToAdmit(load, day)) {
      for (let left = missing; left > 0; left -= pieceMax(load)) {
        const events = Math.min(left, pieceMax(load));
        await speed.admit(events, signal);
        await retry(() => tables.admit(events, signal));
      }
      pieces += 1;
      const isDone = upTo === day.events;
      if (isDone && day === days.at(-1)) return day;
      if (!isDone && !due.isDue(pieces)) continue;
      await save(day, { accepted: upTo });
      failpoint('import_events_admitted');
      due.written();
      pieces = 0;
    }
  }
  throw new Error('expected days with events');
}

function pieceMax({ speed }: Load): number {
  return Math.min(pieceEventsMax, speed.eventsMax);
}

/** What of a day was not let in yet. `missing`: without what the target has already, where it may have any of them. */
async function* eventsToAdmit(
  load: Load,
  day: StoredDay,
): AsyncGenerator<{ readonly upTo: number; readonly missing: number }> {
  const { frameEvents } = load;
  if (load.doubtOf(day) !== 'all') {
    for (let from = day.accepted; from < day.events;) {
      const upTo = Math.min(from + pieceMax(load), day.events);
      yield { upTo, missing: upTo - from };
      from = upTo;
    }
    return;
  }
  const first = Math.floor(day.accepted / frameEvents);
  for await (const frame of readFrames(load, day, first)) {
    const upTo = Math.min((frame.index + 1) * frameEvents, day.events);
    yield { upTo, missing: (await withoutStored(load, frame)).texts.length };
  }
}
