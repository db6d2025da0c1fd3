import { skippedReasons } from '../../../wire/contract/skipped-reasons.ts';
import { eventChart, shownName, stageChart, timeChart } from './charts.ts';
import { counted, firstOf, integer } from '../../../base/integer-text.ts';
import { bytesText, durationText, percentText, timeText } from './figures.ts';
import { cut, html as markup, nothing, type Html } from '../../../base/html.ts';
import type { ReportResult, ReportTotals } from './report.ts';
import { reportTitle, targetName } from './report-title.ts';
import { dayTable, eventTable, partTable } from './report-tables.ts';
import { timeBins } from './time-bins.ts';
import { importVerdicts } from '../../../wire/contract/import-run-states.ts';
import { replacedSection, storedBySection, undoSection } from './run-sections.ts';

/** Policy of the page as a file, and the header that the service sends with it: no scripts, nothing external. */
export const reportPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const sentenceCharsMax = 600;
const errorsShownMax = 50;
const differencesShownMax = 200;

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
  const { label, tone } = importVerdicts[verdict];
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
  if (options.limit !== null) facts.push(['Trial', `only ${firstOf(options.limit, 'record')}`]);
  if (run.promoted_from !== null) facts.push(['Full form of', run.promoted_from]);
  const rows = facts.map(([name, value]) => markup`<dt>${name}</dt><dd>${cut(value, 500)}</dd>`);
  return markup`<header><p><span class="badge ${tone}">${label}</span></p><h1>Import of ${cut(reportTitle(report), 300)}</h1>
<p>${cut(summary, sentenceCharsMax)}</p></header><section aria-label="What was imported"><dl class="facts">${rows}</dl></section>`;
}

function figures({ totals: { records, events, profiles, source_bytes: sourceBytes } }: ReportResult): Html {
  const { persons, groups } = profiles ?? { persons: 0, groups: 0 };
  const items: readonly (readonly [name: string, value: string, small: string])[] = [
    ['Records read', integer(records.read), bytesText(sourceBytes)],
    ['Rejected', integer(records.rejected + events.rejected), rejectedNote(records, events)],
    ['Records skipped', integer(records.skipped), 'skipped on purpose'],
    ['Events', integer(events.converted), counted(events.duplicates, 'duplicate')],
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

/** The console shows both as one number. */
function rejectedNote(records: ReportTotals['records'], events: ReportTotals['events']): string {
  const share = percentText(records.rejected, records.read);
  return `${integer(records.rejected)} unreadable records (${share}), ${integer(events.rejected)} rejected events`;
}

/** Only the service that stored events can undo them. */
function undoFact({ run, options }: ReportResult): string {
  if (options.target.kind === 'project') return 'on the page of this run in the console';
  return (
    `only where the target is Millrace and lists this run: millrace import undo ${run.id}. Events sent to another kind of service ` +
    'cannot be undone from here'
  );
}

function foundNote(events: ReportResult['totals']['events']): string {
  const { verified, loaded, stored_by_others: byOthers, expired = 0 } = events;
  if (verified === null) return 'not read';
  const apart = Math.abs(loaded - expired - verified);
  return [
    apart > 0 ? `${integer(apart)} apart` : expired === 0 ? 'all that was loaded' : 'all that has not expired',
    ...(expired === 0 ? [] : [`${integer(expired)} expired`]),
    ...(byOthers === null || byOthers === 0 ? [] : [`${integer(byOthers)} by others`]),
  ].join('; ');
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
  const outside =
    bins.outside === 0
      ? nothing
      : markup`<p>Not in the chart: ${counted(bins.outside, 'event')} before the year 2000 or in the future; the table of days has them.</p>`;
  const isStored = report.totals.events.verified !== null || report.totals.events.loaded > 0;
  return markup`<section><h2>Events per ${bins.unit}</h2>${timeChart(bins, isStored)}${outside}</section>
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
    ['Warnings', warnings],
    ['Skipped on purpose', skippedReasons(skipped, leftOut).map(([why, n]) => `${why}: ${integer(n)}`)],
    ['Events excluded by choice', Object.entries(leftOut).map(([why, n]) => `${why}: ${integer(n)}`)],
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
  const table = markup`<div class="scroll"><table><caption>Differences by event${more > 0 ? `; ${integer(more)} more are not shown` : ''}</caption>
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
<caption>From start to end, including pauses and waits.</caption><thead><tr><th scope="col">Stage</th>
<th scope="col">Began</th><th class="n" scope="col">Took</th><th class="n" scope="col">Records or events</th>
<th class="n" scope="col">Bytes</th><th class="n" scope="col">Per second</th></tr></thead><tbody>${rows}</tbody></table></div></section>`;
}

function partSection({ parts }: ReportResult): Html {
  return parts.list.length === 0 ? nothing : markup`<section>${partTable(parts)}</section>`;
}

/** Inline, because the page loads nothing. */
const reportStyle = `
:root {
  color-scheme: light dark;
  --ink: #16202b; --soft: #566371; --line: #dde3e9; --page: #f5f7f9; --card: #fff;
  --good: #0c6b4f; --good-back: #e2f4ec; --bad: #a3261c; --bad-back: #fdeae8; --plain: #475569; --plain-back: #e9edf2;
  --c0: #0b6e75; --c1: #d98a1f; --c2: #5a6fc0; --c3: #a8487f; --c4: #6b8e23; --c5: #94a1ae; --dot: #16202b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e8edf2; --soft: #9fabb8; --line: #2b3641; --page: #10161c; --card: #18202a;
    --good: #6fd6ae; --good-back: #12352a; --bad: #ff9d93; --bad-back: #43201d; --plain: #b6c2ce; --plain-back: #28323d;
    --c0: #3fb5bb; --c1: #e5a345; --c2: #8b9ce6; --c3: #d57fb0; --c4: #a3c255; --c5: #77848f; --dot: #e8edf2;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 66rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; letter-spacing: -.015em; margin: 0 0 .35rem; overflow-wrap: anywhere; }
h2 { font-size: 1.12rem; margin: 0 0 .7rem; }
p { margin: .4rem 0; }
.soft { color: var(--soft); }
section, dl.figures div { background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
section { padding: 1.25rem 1.4rem; margin: 1.1rem 0; }
.badge { display: inline-block; border-radius: 999px; padding: .15rem .75rem; font-weight: 650; font-size: .9rem; }
.ok { color: var(--good); background: var(--good-back); }
.warn, .danger { color: var(--bad); background: var(--bad-back); }
.neutral { color: var(--plain); background: var(--plain-back); }
dl.figures { display: grid; gap: .8rem; margin: 1.1rem 0; }
dl.figures { grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); }
dl.figures div { padding: .8rem 1rem; }
dl.figures dt { color: var(--soft); font-size: .85rem; }
dl.figures dd { margin: 0; font-size: 1.45rem; font-weight: 650; letter-spacing: -.01em; }
dl.figures dd { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
dl.figures dd small { display: block; font-size: .8rem; font-weight: 400; color: var(--soft); letter-spacing: 0; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; margin: 0; }
dl.facts dt { color: var(--soft); }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding: 0 0 .5rem; }
th, td { text-align: left; padding: .32rem .7rem .32rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; }
thead th { color: var(--soft); font-size: .85rem; white-space: nowrap; }
td.n, th.n { text-align: right; white-space: nowrap; }
td.n + td:not(.n), th.n + th:not(.n) { padding-left: .6rem; }
td.day { white-space: nowrap; }
td.name, tbody th { overflow-wrap: anywhere; min-width: 8rem; max-width: 26rem; font-weight: 400; }
td.hash { font: 12px/1.5 ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; min-width: 12rem; }
tr.off td, tr.off th { color: var(--bad); }
code { font: 13px/1.5 ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
/* On a narrow screen the chart scrolls instead of becoming illegible. */
.chart { overflow: auto hidden; }
.chart svg { min-width: 36rem; }
.chart + .scroll { margin-top: 1rem; }
details > summary { cursor: pointer; font-weight: 600; margin: .2rem 0 .7rem; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
svg text.ink { fill: var(--ink); }
svg .axis { stroke: var(--line); stroke-width: 1; }
svg .dot { fill: var(--card); stroke: var(--dot); stroke-width: 1.5; }
.f0 { fill: var(--c0); } .f1 { fill: var(--c1); } .f2 { fill: var(--c2); }
.f3 { fill: var(--c3); } .f4 { fill: var(--c4); } .f5 { fill: var(--c5); }
ul.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.2rem; padding: 0; margin: .7rem 0 0; }
ul.legend li { display: flex; align-items: center; gap: .45rem; min-width: 0; overflow-wrap: anywhere; }
ul.legend svg { width: 12px; height: 12px; flex: none; }
ul.plain-list { margin: 0; padding-left: 1.2rem; }
:focus-visible { outline: 3px solid var(--c0); outline-offset: 2px; }
@media (max-width: 40rem) {
  main { padding: 1.5rem .8rem 3rem; }
  section { padding: 1rem .9rem; }
  dl.figures { grid-template-columns: 1fr 1fr; gap: .6rem; }
  dl.figures dd { font-size: 1.2rem; }
  th, td { padding-right: .5rem; font-size: .9rem; }
  td.name, tbody th { min-width: 6.5rem; }
  thead th, thead th.n { white-space: normal; vertical-align: bottom; }
}
@media print {
  .chart svg { min-width: 0; }
  :root {
    color-scheme: light;
    --ink: #000; --soft: #444; --line: #bbb; --page: #fff; --card: #fff; --dot: #000;
    --good: #0c6b4f; --good-back: #fff; --bad: #a3261c; --bad-back: #fff; --plain: #333; --plain-back: #fff;
    --c0: #0b6e75; --c1: #d98a1f; --c2: #5a6fc0; --c3: #a8487f; --c4: #6b8e23; --c5: #94a1ae;
  }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  section, dl.figures div { border-radius: 0; }
  .badge { border: 1px solid currentColor; }
  tr, svg, dl.figures div { break-inside: avoid; }
  h2, summary { break-after: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
`;
