import { cut, html as markup, nothing, type Html } from '../../../base/html.ts';
import { integer } from '../../../base/integer-text.ts';
import { timeText } from './figures.ts';
import type { ReportResult } from './report.ts';

const exceptionsShownMax = 50;
const sentenceCharsMax = 600;

/** What taking the run back came to; first on the page, because all that follows is of the time before. */
export function undoSection({ undo }: ReportResult): Html {
  if (undo === undefined) return nothing;
  const facts: readonly (readonly [string, string])[] = [
    ['Taken back', timeText(undo.made_at)],
    ['Events', `${integer(undo.plan.events)} taken back, ${integer(undo.rows_left)} left`],
    ['Seen again', `${integer(undo.events_seen_again)} that others had stored too, or stored meanwhile`],
    ['Persons', `${integer(undo.persons.before)} made anew: ${integer(undo.persons.after)}`],
    ['Groups', `${integer(undo.groups.before)} made anew: ${integer(undo.groups.after)}`],
    ['Loaded again', undo.loaded_again.length === 0 ? 'no other run' : undo.loaded_again.join(', ')],
  ];
  const rows = facts.map(([name, value]) => markup`<dt>${name}</dt><dd>${cut(value, sentenceCharsMax)}</dd>`);
  const exceptions = undo.exceptions
    .slice(0, exceptionsShownMax)
    .map((text) => markup`<li>${cut(text, sentenceCharsMax)}</li>`);
  const list =
    exceptions.length === 0 ? nothing : markup`<p>What is not as if the run had never been:</p><ul>${exceptions}</ul>`;
  return markup`<section><h2>Taken back</h2><p>Nothing that this run loaded is stored any more. What follows is of the time before.</p>
<dl class="facts">${rows}</dl>${list}</section>`;
}
