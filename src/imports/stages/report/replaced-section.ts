import { cut, html as markup, nothing, type Html } from '../../../base/html.ts';
import { integer } from '../../../base/integer-text.ts';
import { timeText } from './figures.ts';
import type { ReplacedRun, ReportResult } from './report.ts';

const runsShownMax = 50;
const sentenceCharsMax = 600;

/** Renders the runs that this one replaced, with the results of their undo. */
export function replacedSection({ replaced = [] }: ReportResult): Html {
  if (replaced.length === 0) return nothing;
  const rows = replaced.slice(0, runsShownMax).map(replacedRow);
  const exceptions = replaced
    .flatMap(({ undo }) => undo?.exceptions ?? [])
    .slice(0, runsShownMax)
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
