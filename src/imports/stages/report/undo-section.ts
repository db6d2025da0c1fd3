import { cut, html as markup, nothing, type Html } from '../../../base/html.ts';
import { integer } from '../../../base/integer-text.ts';
import { timeText } from './figures.ts';
import type { ReportResult } from './report.ts';

const exceptionsShownMax = 50;
const sentenceCharsMax = 600;

/** Renders the result of the undo; first on the page, because everything that follows is from before it. */
export function undoSection({ undo }: ReportResult): Html {
  if (undo === undefined) return nothing;
  const facts: readonly (readonly [string, string])[] = [
    ['Undone', timeText(undo.made_at)],
    ['Events', `${integer(undo.plan.events)} undone, ${integer(undo.rows_left)} left`],
    ['Visible again', `${integer(undo.events_seen_again)} also stored by others`],
    ['Persons', `${integer(undo.persons.before)} rebuilt as ${integer(undo.persons.after)}`],
    ['Groups', `${integer(undo.groups.before)} rebuilt as ${integer(undo.groups.after)}`],
    ['Loaded again', undo.loaded_again.length === 0 ? 'no other run' : undo.loaded_again.join(', ')],
  ];
  const rows = facts.map(([name, value]) => markup`<dt>${name}</dt><dd>${cut(value, sentenceCharsMax)}</dd>`);
  const exceptions = undo.exceptions
    .slice(0, exceptionsShownMax)
    .map((text) => markup`<li>${cut(text, sentenceCharsMax)}</li>`);
  const list = exceptions.length === 0 ? nothing : markup`<p>Effects of the run that remain:</p><ul>${exceptions}</ul>`;
  return markup`<section><h2>Undone</h2><p>Nothing that this run loaded is stored any more. The sections below are from before the undo.</p>
<dl class="facts">${rows}</dl>${list}</section>`;
}
