import type { StoredDay } from '../../run/import-day.ts';
import type { NoteFinding } from '../../run/results.ts';
import type { RunOptions } from '../../run/run.ts';
import type { Sum } from './findings.ts';
import { addNoteCounts, createNoteSum, noteCountsOf, noteFindings } from './note-tally.ts';

/** Projects of Mixpanel made before that day have a zone of their own, which the records do not say. */
const mixpanelUtcFrom = '2023-01-01';

/** What readers have noted, and what the days of all records say. */
export function resultNotes({
  sum,
  days,
  options,
}: {
  readonly sum: Pick<Sum, 'notes'>;
  readonly days: readonly Pick<StoredDay, 'day' | 'events'>[];
  readonly options: Pick<RunOptions, 'format' | 'formatOptions'>;
}): NoteFinding[] {
  const early = days.filter(({ day, events }) => day < mixpanelUtcFrom && events > 0);
  const isZoneAssumed = options.format === 'mixpanel' && (options.formatOptions['time_zone'] ?? '') === '';
  if (!isZoneAssumed || early.length === 0) return noteFindings(sum.notes);
  const notes = createNoteSum();
  addNoteCounts(notes, noteCountsOf(sum.notes).notes ?? {});
  const count = early.reduce((all, { events }) => all + events, 0);
  const first = early.map(({ day }) => day).toSorted()[0] ?? '';
  addNoteCounts(notes, { mixpanel_zone_assumed: { count, amount: 0, samples: [first] } });
  return noteFindings(notes);
}
