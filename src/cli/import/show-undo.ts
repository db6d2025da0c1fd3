import type { UndoPlan } from '../../imports/run/results.ts';
import { numberText } from '../progress-line.ts';
import { printable, shortName, type Terminal } from '../terminal.ts';

const namesShown = 20;

const consequences: Readonly<Record<UndoPlan['other_runs'][number]['what'], string>> = {
  loads_again: 'loads once more what only this run had stored',
  at_work: 'is at work: the undo waits for it',
  not_complete: 'has not ended: see below',
  not_staged: 'has nothing staged any more: see below',
};

/** What taking back a run would do, on a page. */
export function showUndoPlan(terminal: Terminal, run: string, plan: UndoPlan): void {
  const days = Object.keys(plan.by_day).sort();
  const hidden = plan.rows - plan.events;
  const lines = [
    `run ${run} would be taken back:`,
    `events      ${numberText(plan.events).padStart(13)}${days.length === 0 ? '' : `, ${days[0]} to ${days.at(-1)}`}`,
    ...(hidden === 0
      ? []
      : [`hidden      ${numberText(hidden).padStart(13)} that others stored first; they stay as they are`]),
    ...mostFrequent(plan.by_name).map(
      ([name, count]) => `  ${numberText(count).padStart(12)}  ${printable(shortName(name))}`,
    ),
    `ids         ${numberText(plan.distinct_ids).padStart(13)}`,
    `persons     ${(plan.persons === null ? 'many' : numberText(plan.persons)).padStart(13)} made anew from what stays`,
    `groups      ${numberText(plan.groups).padStart(13)} made anew from what stays`,
    ...plan.other_runs.map(({ id, what }) => `run ${id} ${consequences[what]}`),
    ...plan.exceptions.map((sentence) => `exception: ${printable(sentence)}`),
  ];
  for (const line of lines) terminal.data(line);
}

function mostFrequent(counts: Readonly<Record<string, number>>): readonly (readonly [string, number])[] {
  return Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .slice(0, namesShown);
}
