import { counted } from '../../base/integer-text.ts';
import { importVerdicts } from '../../wire/contract/import-run-states.ts';
import type { ReportResult } from '../../imports/stages/report/report.ts';
import { reportTitle } from '../../imports/stages/report/report-title.ts';
import { numberText } from '../progress-line.ts';
import { printable, type Terminal } from '../terminal.ts';

const shownMax = 20;
const sampleCharsMax = 200;

/** Shows the report of a run. */
export function showReport(terminal: Terminal, report: ReportResult): void {
  const { verdict, summary, run, made_at: madeAt } = report;
  terminal.data(terminal.styled('bold', printable(reportTitle(report))));
  terminal.data(`${importVerdicts[verdict].label}: ${printable(summary)}`);
  terminal.data(`run ${run.id}, report of ${madeAt}`);
  terminal.data('');
  for (const line of figures(report)) terminal.data(line);
  terminal.data('');
  for (const sentence of [...storedBefore(report), ...replacedRuns(report)]) terminal.data(sentence);
  terminal.data(`compared: ${compared(report)}`);
  for (const { name, left, right } of report.balance.filter(({ holds }) => !holds)) {
    terminal.data(`does not add up: ${name}: ${numberText(left)} and ${numberText(right)}`);
  }
  for (const problem of report.problems.slice(0, shownMax)) terminal.data(`problem: ${printable(problem)}`);
  for (const warning of report.warnings.slice(0, shownMax)) terminal.data(`warning: ${printable(warning)}`);
  showRejected(terminal, report);
}

function figures({ totals: { records, events, profiles } }: ReportResult): string[] {
  const rows: readonly (readonly [string, number | null])[] = [
    ['records', records.read],
    ['skipped', records.skipped],
    ['rejected', records.rejected + events.rejected],
    ['events', events.converted],
    ...profileRows(profiles),
    ['duplicates', events.duplicates],
    ['loaded', events.loaded],
    ['found', events.verified],
    ['of these stored before by others', events.stored_by_others],
    ...(events.expired === undefined ? [] : [['expired since', events.expired] as const]),
  ];
  return rows.map(
    ([name, count]) => `${name.padEnd(34)}${count === null ? 'not checked' : numberText(count).padStart(13)}`,
  );
}

function storedBefore({ stored_by: storedBy }: ReportResult): string[] {
  return (storedBy ?? []).slice(0, shownMax).map(({ run, source, created_at: at, events }) => {
    const by =
      run === null ? 'live capture' : `run ${run}${source === null || at === null ? '' : ` (${source}, ${day(at)})`}`;
    return `stored before by ${printable(by)}: ${numberText(events)}`;
  });
}

function replacedRuns({ replaced = [] }: ReportResult): string[] {
  return replaced.flatMap(({ run, source, created_at: at, undo }) => [
    `replaces run ${run}${source === null || at === null ? '' : ` (${printable(source)}, ${day(at)})`}: ` +
      (undo === null
        ? 'not undone yet'
        : `${counted(undo.plan.events, 'event')} undone, ${numberText(undo.rows_left)} left; ` +
          `${counted(undo.persons.before, 'person')} and ${counted(undo.groups.before, 'group')} rebuilt`),
    ...(undo?.exceptions ?? []).map((sentence) => `  exception: ${printable(sentence)}`),
  ]);
}

/** Shortens an ISO 8601 time to the minute. */
function day(time: string): string {
  return time.slice(0, 16).replace('T', ' ');
}

function profileRows({ persons, groups } = { persons: 0, groups: 0 }): readonly (readonly [string, number])[] {
  if (persons + groups === 0) return [];
  return [
    ['  person profiles', persons],
    ['  group profiles', groups],
  ];
}

function compared({ verify, differences }: ReportResult): string {
  if (verify.verdict === 'not done') return 'nothing yet';
  const count = differences.list.length + differences.more;
  return `${printable(verify.detail)}${count === 0 ? '' : ` ${counted(count, 'difference')}; "millrace import verify" lists them.`}`;
}

/** Shows rejections by reason, each with its first record. */
function showRejected(terminal: Terminal, { errors }: ReportResult): void {
  for (const { code, reason, count, example } of errors.slice(0, shownMax)) {
    const original = printable(example.original);
    const sample = original.length > sampleCharsMax ? `${original.slice(0, sampleCharsMax)}…` : original;
    terminal.data(`rejected ${numberText(count)}: ${printable(reason)} (${code})`);
    terminal.data(`  ${printable(example.part)}, line ${example.line}: ${sample}`);
  }
  if (errors.length > shownMax) terminal.note(`and ${errors.length - shownMax} more reasons; --json shows all`);
}
