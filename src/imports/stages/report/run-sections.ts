import { cut, html as markup, nothing, type Html } from '../../../base/html.ts';
import { integer } from '../../../base/integer-text.ts';
import { timeText } from './figures.ts';
import type { ReportResult, ReplacedRun } from './report.ts';

/** Rows or sentences that are shown of a list. */
const shownMax = 50;
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
  const exceptions = undo.exceptions.slice(0, shownMax).map((text) => markup`<li>${cut(text, sentenceCharsMax)}</li>`);
  const list = exceptions.length === 0 ? nothing : markup`<p>Effects of the run that remain:</p><ul>${exceptions}</ul>`;
  return markup`<section><h2>Undone</h2><p>Nothing that this run loaded is stored any more. The sections below are from before the undo.</p>
<dl class="facts">${rows}</dl>${list}</section>`;
}

/** Renders the runs that this one replaced, with the results of their undo. */
export function replacedSection({ replaced = [] }: ReportResult): Html {
  if (replaced.length === 0) return nothing;
  const rows = replaced.slice(0, shownMax).map(replacedRow);
  const exceptions = replaced
    .flatMap(({ undo }) => undo?.exceptions ?? [])
    .slice(0, shownMax)
    .map((text) => markup`<li>${cut(text, sentenceCharsMax)}</li>`);
  const list =
    exceptions.length === 0 ? nothing : markup`<p>Effects of these runs that remain:</p><ul>${exceptions}</ul>`;
  return markup`<section><h2>Replaced</h2><div class="scroll"><table><caption>Undone before this run loaded.</caption>
<thead><tr><th scope="col">Run</th><th scope="col">Begun</th><th scope="col">Undone</th><th class="n" scope="col">Events</th>
<th class="n" scope="col">Left</th><th class="n" scope="col">Persons</th><th class="n" scope="col">Groups</th></tr></thead>
<tbody>${rows}</tbody></table></div>${list}</section>`;
}

function replacedRow({ run, source, created_at: begun, undo }: ReplacedRun): Html {
  const name = source === null ? run : `${run} (${source})`;
  const counts = [undo?.plan.events, undo?.rows_left, undo?.persons.before, undo?.groups.before];
  const cells = counts.map((count) => markup`<td class="n">${count === undefined ? '–' : integer(count)}</td>`);
  return markup`<tr><th class="name" scope="row">${cut(name, 200)}</th><td>${begun === null ? '–' : timeText(begun)}</td>
<td>${undo === null ? 'not yet' : timeText(undo.made_at)}</td>${cells}</tr>`;
}

/** Renders where earlier copies of the run's events came from. */
export function storedBySection({ stored_by: storedBy }: Pick<ReportResult, 'stored_by'>): Html {
  if (storedBy === null || storedBy === undefined || storedBy.length === 0) return nothing;
  const rows = storedBy.slice(0, shownMax).map(({ run, source, created_at: begun, events }) => {
    const name = run === null ? 'live capture' : `run ${run}${source === null ? '' : ` (${source})`}`;
    return markup`<tr><th class="name" scope="row">${cut(name, 200)}</th><td>${begun === null ? '–' : timeText(begun)}</td>
<td class="n">${integer(events)}</td></tr>`;
  });
  return markup`<section><h2>Stored before</h2><div class="scroll"><table>
<caption>Events of this run that others had stored first; those remain.</caption>
<thead><tr><th scope="col">By</th><th scope="col">Begun</th><th class="n" scope="col">Events</th></tr></thead>
<tbody>${rows}</tbody></table></div></section>`;
}
