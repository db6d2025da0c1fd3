import { skippedReasons } from '../../../wire/contract/skipped-reasons.ts';
import { eventChart, shownName, stageChart, timeChart } from './charts.ts';
import { integer } from '../../../base/integer-text.ts';
import { bytesText, durationText, percentText, timeText } from './figures.ts';
import { cut, html as markup, nothing, type Html } from '../../../base/html.ts';
import type { ReportResult, ReportTotals } from './report.ts';
import { reportTitle, targetName } from './report-title.ts';
import { reportStyle } from './report-style.ts';
import { dayTable, eventTable, partTable } from './report-tables.ts';
import { timeBins } from './time-bins.ts';
import { replacedSection } from './replaced-section.ts';
import { storedBySection } from './stored-by-section.ts';
import { undoSection } from './undo-section.ts';

/** Of the page as a file; the same goes out as a header where the service sends it. No script, nothing from elsewhere. */
export const reportPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const sentenceCharsMax = 600;
const errorsShownMax = 50;
const differencesShownMax = 200;

const badges: Readonly<Record<ReportResult['verdict'], readonly [word: string, look: 'good' | 'bad' | 'plain']>> = {
  exact: ['Complete and exact', 'good'],
  exact_by_id: ['Complete and exact by id', 'good'],
  incomplete: ['The source is incomplete', 'bad'],
  unverified: ['Complete, store not compared', 'plain'],
  checked: ['Checked, nothing sent', 'plain'],
  unfinished: ['Not finished', 'plain'],
  different: ['Differences', 'bad'],
};

/** A verdict in a few words. */
export const reportWords = Object.fromEntries(
  Object.entries(badges).map(([verdict, [word]]) => [verdict, word]),
) as Readonly<Record<ReportResult['verdict'], string>>;

/** The report as one page that needs nothing else: for a browser, for paper, for a customer. */
export function reportPage(report: ReportResult): string {
  const title = `Import of ${reportTitle(report)}, ${report.made_at.slice(0, 10)}`;
  const body = markup`${heading(report)}${undoSection(report)}${replacedSection(report)}
${figures(report)}${balanceSection(report)}${timeSection(report)}
${eventSection(report)}${findings(report)}${verifySection(report)}
${storedBySection(report)}${stageSection(report)}${partSection(report)}`;
  const head = markup`<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${reportPolicy}">
<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="referrer" content="no-referrer">
<title>${title}</title>`;
  return (
    `<!doctype html>\n<html lang="en"><head>${head.safe}<style>${reportStyle}</style></head>\n` +
    `<body><main>${body.safe}</main></body></html>\n`
  );
}

function heading(report: ReportResult): Html {
  const { run, options, verdict, summary, made_at: madeAt } = report;
  const [word, look] = badges[verdict];
  const { from, to } = options;
  const facts: (readonly [string, string])[] = [
    ['Source', run.source],
    ['Range', `${from ?? 'the beginning'} up to ${to ?? 'the end'}`],
    ['Format', options.format],
    ['Target', targetName(report)],
    ['Undo', undoFact(report)],
    ['Run', run.id],
    ['Made', timeText(madeAt)],
  ];
  if (options.limit !== null) facts.push(['Trial', `only the first ${integer(options.limit)} records`]);
  if (run.promoted_from !== null) facts.push(['Full form of', run.promoted_from]);
  const rows = facts.map(([name, value]) => markup`<dt>${name}</dt><dd>${cut(value, 500)}</dd>`);
  return markup`<header><p><span class="badge ${look}">${word}</span></p><h1>Import of ${cut(reportTitle(report), 300)}</h1>
<p>${cut(summary, sentenceCharsMax)}</p></header><section aria-label="What was imported"><dl class="facts">${rows}</dl></section>`;
}

function figures({ totals: { records, events, profiles, source_bytes: sourceBytes } }: ReportResult): Html {
  const { persons, groups } = profiles ?? { persons: 0, groups: 0 };
  const items: readonly (readonly [name: string, value: string, small: string])[] = [
    ['Records read', integer(records.read), bytesText(sourceBytes)],
    ['Rejected', integer(records.rejected + events.rejected), rejectedNote(records, events)],
    ['Records skipped', integer(records.skipped), 'skipped on purpose'],
    ['Events', integer(events.converted), `${integer(events.duplicates)} duplicates`],
    ...(persons + groups === 0
      ? []
      : [['Of these profiles', integer(persons + groups), `${integer(groups)} of groups`] as const]),
    ['Events loaded', integer(events.loaded), `${integer(events.rejected)} rejected`],
    ['Found in the store', events.verified === null ? '–' : integer(events.verified), foundNote(events)],
  ];
  const tiles = items.map(
    ([name, value, small]) => markup`<div><dt>${name}</dt><dd>${value}<small>${small}</small></dd></div>`,
  );
  return markup`<dl class="figures">${tiles}</dl>`;
}

/** The console counts both as one. */
function rejectedNote(records: ReportTotals['records'], events: ReportTotals['events']): string {
  const share = percentText(records.rejected, records.read);
  return `${integer(records.rejected)} unreadable records (${share}), ${integer(events.rejected)} refused events`;
}

/** Only the service that has stored events can take them back. */
function undoFact({ run, options }: ReportResult): string {
  if (options.target.kind === 'project') return 'on the page of this run in the console';
  return (
    `only where the target is Millrace and lists this run: millrace import undo ${run.id}. Events sent to another kind of service ` +
    'cannot be undone from here'
  );
}

function foundNote({ verified, loaded, stored_by_others: byOthers }: ReportResult['totals']['events']): string {
  if (verified === null) return 'not looked at';
  const note = verified === loaded ? 'all that was loaded' : `${integer(Math.abs(loaded - verified))} apart`;
  return byOthers === null || byOthers === 0 ? note : `${note}; ${integer(byOthers)} by others`;
}

function balanceSection({ balance }: ReportResult): Html {
  if (balance.length === 0) return nothing;
  const rows = balance.map(
    ({ name, left, right, holds }) =>
      markup`<tr class="${holds ? 'on' : 'off'}"><th class="name" scope="row">${name}</th><td class="n">${integer(left)}</td>
<td class="n">${integer(right)}</td><td>${holds ? 'agrees' : `${integer(Math.abs(left - right))} apart`}</td></tr>`,
  );
  return markup`<section><h2>What adds up</h2><div class="scroll"><table>
<caption>Each sum was counted in two places.</caption><thead><tr><th scope="col">Sum</th><th class="n" scope="col">Left</th>
<th class="n" scope="col">Right</th><th scope="col">Result</th></tr></thead><tbody>${rows}</tbody></table></div></section>`;
}

function timeSection(report: ReportResult): Html {
  const bins = timeBins(report);
  if (bins === undefined) return nothing;
  const beside =
    bins.beside === 0
      ? nothing
      : markup`<p>Not in the chart: ${integer(bins.beside)} events before the year 2000 or in the future; the table of days has them.</p>`;
  const isStored = report.totals.events.verified !== null || report.totals.events.loaded > 0;
  return markup`<section><h2>Events per ${bins.unit}</h2>${timeChart(bins, isStored)}${beside}</section>
<section>${dayTable(report)}</section>`;
}

function eventSection({ events }: ReportResult): Html {
  if (events.length === 0) return nothing;
  return markup`<section><h2>Events by name</h2>${eventChart(events)}</section><section>${eventTable(events)}</section>`;
}

function findings({ errors, problems, warnings, totals }: ReportResult): Html {
  const { skipped_by_reason: skipped } = totals.records;
  const { left_out_by_reason: leftOut } = totals.events;
  const lists: (readonly [string, readonly string[]])[] = [
    ['Problems that the check found', problems],
    ['Worth a look', warnings],
    ['Skipped on purpose', skippedReasons(skipped, leftOut).map(([why, n]) => `${why}: ${integer(n)}`)],
    ['Events left out by choice', Object.entries(leftOut).map(([why, n]) => `${why}: ${integer(n)}`)],
  ];
  const sections = lists.map(([title, sentences]) => {
    if (sentences.length === 0) return nothing;
    const items = sentences.map((sentence) => markup`<li>${cut(sentence, sentenceCharsMax)}</li>`);
    return markup`<section><h2>${title}</h2><ul class="plain-list">${items}</ul></section>`;
  });
  return markup`${sections}${errorSection(errors)}`;
}

function errorSection(errors: ReportResult['errors']): Html {
  if (errors.length === 0) return nothing;
  const rows = errors.slice(0, errorsShownMax).map(
    ({ code, reason, count, example }) =>
      markup`<tr><th class="name" scope="row">${code}</th><td class="n">${integer(count)}</td><td class="name">${cut(reason, 300)}</td>
<td class="name">${cut(example.part, 120)}, line ${integer(example.line)}<br><code>${cut(example.original, 200)}</code></td></tr>`,
  );
  return markup`<section><h2>Rejected, by reason</h2><div class="scroll"><table><thead><tr><th scope="col">Code</th>
<th class="n" scope="col">How many</th><th scope="col">Reason</th><th scope="col">For example</th></tr></thead>
<tbody>${rows}</tbody></table></div></section>`;
}

function verifySection({ verify, differences }: ReportResult): Html {
  if (verify.verdict === 'not done') return nothing;
  const rows = differences.list.slice(0, differencesShownMax).map(
    ({ kind, day, event, uuid, distinct_id: distinctId, detail }) =>
      markup`<tr><th class="name" scope="row">${kind}</th><td class="day">${day}</td><td class="name">${shownName(event)}</td>
<td class="hash">${cut(uuid, 80)}</td><td class="name">${cut(distinctId, 120)}</td><td class="name">${cut(detail, 300)}</td></tr>`,
  );
  const more = differences.more + Math.max(0, differences.list.length - differencesShownMax);
  const table = markup`<div class="scroll"><table><caption>Differences, to the record${more > 0 ? `; ${integer(more)} more are not shown` : ''}</caption>
<thead><tr><th scope="col">What</th><th scope="col">Day</th><th scope="col">Event</th><th scope="col">UUID</th>
<th scope="col">Distinct id</th><th scope="col">Detail</th></tr></thead><tbody>${rows}</tbody></table></div>`;
  return markup`<section><h2>Compared with the store</h2><p>${cut(verify.detail, sentenceCharsMax)}</p>${rows.length > 0 ? table : nothing}</section>`;
}

function stageSection({ stages }: ReportResult): Html {
  const rows = stages.map(
    ({ stage, started_at: startedAt, duration_ms: durationMs, done, bytes, rate }) =>
      markup`<tr><th class="name" scope="row">${stage}</th><td class="day">${startedAt === null ? 'not begun' : timeText(startedAt)}</td>
<td class="n">${durationMs === null ? '–' : durationText(durationMs)}</td><td class="n">${integer(done)}</td>
<td class="n">${bytesText(bytes)}</td><td class="n">${rate === null ? '–' : integer(rate)}</td></tr>`,
  );
  return markup`<section><h2>Stages</h2>${stageChart(stages)}<div class="scroll"><table>
<caption>From first to last moment; pauses and waiting count.</caption><thead><tr><th scope="col">Stage</th>
<th scope="col">Began</th><th class="n" scope="col">Took</th><th class="n" scope="col">Records or events</th>
<th class="n" scope="col">Bytes</th><th class="n" scope="col">Per second</th></tr></thead><tbody>${rows}</tbody></table></div></section>`;
}

function partSection({ parts }: ReportResult): Html {
  return parts.list.length === 0 ? nothing : markup`<section>${partTable(parts)}</section>`;
}
