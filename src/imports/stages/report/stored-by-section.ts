import { cut, html as markup, nothing, type Html } from '../../../base/html.ts';
import { integer } from '../../../base/integer-text.ts';
import { timeText } from './figures.ts';
import type { ReportResult } from './report.ts';

const rowsShownMax = 50;

/** Renders where earlier copies of the run's events came from. */
export function storedBySection({ stored_by: storedBy }: Pick<ReportResult, 'stored_by'>): Html {
  if (storedBy === null || storedBy === undefined || storedBy.length === 0) return nothing;
  const rows = storedBy.slice(0, rowsShownMax).map(({ run, source, created_at: begun, events }) => {
    const name = run === null ? 'live capture' : `run ${run}${source === null ? '' : ` (${source})`}`;
    return markup`<tr><th class="name" scope="row">${cut(name, 200)}</th><td>${begun === null ? '–' : timeText(begun)}</td>
<td class="n">${integer(events)}</td></tr>`;
  });
  return markup`<section><h2>Stored before</h2><div class="scroll"><table>
<caption>Events of this run that others had stored first; those remain.</caption>
<thead><tr><th scope="col">By</th><th scope="col">Begun</th><th class="n" scope="col">Events</th></tr></thead>
<tbody>${rows}</tbody></table></div></section>`;
}
