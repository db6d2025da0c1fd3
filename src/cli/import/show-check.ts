import { counted } from '../../base/integer-text.ts';
import type { CheckResult, VerifyResult, UndoPlan } from '../../imports/run/results.ts';
import { numberText } from '../progress-line.ts';
import { printable, shortName, type Terminal } from '../terminal.ts';

const eventsShown = 20;
const errorsShown = 20;
const idsShown = 3;
const samplesShown = 3;
const sampleCharsMax = 400;
const differencesShown = 20;

/** Shows the result of the check. Its problems are the error that ends the command (outcome.ts). */
export function showCheck(terminal: Terminal, result: CheckResult): void {
  terminal.data(`check ${result.verdict}`);
  for (const warning of result.warnings) terminal.data(`  warning: ${printable(warning)}`);
  if (result.first_time !== null) terminal.data(`times: ${result.first_time} to ${result.last_time ?? ''}`);
  showReplaced(terminal, result);
  showEvents(terminal, result);
  showIds(terminal, result.identity);
  showErrors(terminal, result);
  showSamples(terminal, result);
}

/** Shows the runs that would be undone first. */
function showReplaced(terminal: Terminal, { replaces = [] }: CheckResult): void {
  for (const { run, plan } of replaces) {
    terminal.data('');
    showUndoPlan(terminal, run, plan);
  }
}

function showEvents(terminal: Terminal, { events }: CheckResult): void {
  if (events.length === 0) return;
  // Only a target that can be queried tells which events are new.
  const knowsNew = events.some(({ is_new }) => is_new !== undefined);
  const rows = events
    .slice(0, eventsShown)
    .map(({ event, count, first_time, last_time, is_new }) =>
      [shortName(event), numberText(count), first_time, last_time].concat(
        knowsNew ? [is_new === true ? 'yes' : 'no'] : [],
      ),
    );
  terminal.data('');
  terminal.table(['EVENT', 'COUNT', 'FIRST', 'LAST', ...(knowsNew ? ['NEW'] : [])], rows);
  noteRest(terminal, events.length - eventsShown, 'name');
}

/** Shows suspicious ids: the busiest are often default values, those of several persons shared devices. */
function showIds(terminal: Terminal, identity: CheckResult['identity']): void {
  const { distinct_ids, is_estimated, busiest, ids_of_several_persons } = identity;
  if (distinct_ids === 0) return;
  terminal.data('');
  terminal.data(`distinct ids: ${is_estimated === true ? 'about ' : ''}${numberText(distinct_ids)}; the busiest:`);
  for (const { id, events } of busiest.slice(0, idsShown)) {
    terminal.data(`  ${printable(id)}: ${counted(events, 'event')}`);
  }
  for (const { id, persons } of ids_of_several_persons.slice(0, idsShown)) {
    terminal.data(`  ${printable(id)} belongs to ${counted(persons, 'person')}`);
  }
}

function showErrors(terminal: Terminal, { errors }: CheckResult): void {
  if (errors.length === 0) return;
  terminal.data('');
  terminal.table(
    ['REJECTED', 'CODE', 'REASON', 'FOR EXAMPLE'],
    errors
      .slice(0, errorsShown)
      .map(({ count, code, reason, example }) => [
        numberText(count),
        code,
        reason,
        `${example.part}, line ${example.line}`,
      ]),
  );
  noteRest(terminal, errors.length - errorsShown, 'reason');
}

function showSamples(terminal: Terminal, { samples }: CheckResult): void {
  for (const { part, line, source, events } of samples.slice(0, samplesShown)) {
    terminal.data('');
    terminal.data(`${printable(part)}, line ${line}: ${cut(source)}`);
    for (const event of events) terminal.data(`  becomes ${cut(event)}`);
  }
}

/** Shows the result of verification. */
export function showVerify(terminal: Terminal, result: VerifyResult): void {
  terminal.data(`verify ${result.verdict}: ${printable(result.detail)}`);
  const found = result.verdict === 'unreadable' ? 'nothing read' : `found ${numberText(result.found)}`;
  terminal.data(`expected ${numberText(result.expected)}, ${found}`);
  if (result.differences.length === 0) return;
  terminal.data('');
  terminal.table(
    ['KIND', 'DAY', 'EVENT', 'DISTINCT ID', 'UUID', 'DETAIL'],
    result.differences
      .slice(0, differencesShown)
      .map((each) => [each.kind, each.day, each.event, each.distinct_id, each.uuid, each.detail]),
  );
  noteRest(terminal, result.differences.length + result.truncated - differencesShown, 'difference');
}

function noteRest(terminal: Terminal, count: number, what: string): void {
  if (count > 0) terminal.note(`and ${counted(count, `more ${what}`)}; --json shows all kept ones`);
}

function cut(value: unknown): string {
  const text = printable(JSON.stringify(value) ?? '');
  return text.length > sampleCharsMax ? `${text.slice(0, sampleCharsMax)}…` : text;
}

const namesShown = 20;

const consequences: Readonly<Record<UndoPlan['other_runs'][number]['what'], string>> = {
  loads_again: 'loads again what only this run had stored',
  at_work: 'is running: the undo waits for it',
  not_complete: 'has not ended: see below',
  not_staged: 'has no staged records left: see below',
};

/** Shows what undoing a run would do. */
export function showUndoPlan(terminal: Terminal, run: string, plan: UndoPlan): void {
  const days = Object.keys(plan.by_day).sort();
  const hidden = plan.rows - plan.events;
  const lines = [
    `run ${run} would be undone:`,
    `events      ${numberText(plan.events).padStart(13)}${days.length === 0 ? '' : `, ${days[0]} to ${days.at(-1)}`}`,
    ...(hidden === 0 ? [] : [`hidden      ${numberText(hidden).padStart(13)} stored first by others; they stay`]),
    ...mostFrequent(plan.by_name).map(
      ([name, count]) => `  ${numberText(count).padStart(12)}  ${printable(shortName(name))}`,
    ),
    `ids         ${numberText(plan.distinct_ids).padStart(13)}`,
    `persons     ${(plan.persons === null ? 'many' : numberText(plan.persons)).padStart(13)} rebuilt from remaining events`,
    `groups      ${numberText(plan.groups).padStart(13)} rebuilt from remaining events`,
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
