import type { CheckResult, VerifyResult } from '../../imports/run/results.ts';
import { showUndoPlan } from './show-undo.ts';
import { numberText } from '../progress-line.ts';
import { printable, shortName, type Terminal } from '../terminal.ts';

const eventsShown = 20;
const errorsShown = 20;
const idsShown = 3;
const samplesShown = 3;
const sampleCharsMax = 400;
const differencesShown = 20;

/** What the check found, for a person. Its problems are the error with which the command ends (outcome.ts). */
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

/** What would be taken back beforehand. */
function showReplaced(terminal: Terminal, { replaces = [] }: CheckResult): void {
  for (const { run, plan } of replaces) {
    terminal.data('');
    showUndoPlan(terminal, run, plan);
  }
}

function showEvents(terminal: Terminal, { events }: CheckResult): void {
  if (events.length === 0) return;
  // Nobody can tell what is new in a target that cannot be asked.
  const isAsked = events.some(({ is_new }) => is_new !== undefined);
  const rows = events
    .slice(0, eventsShown)
    .map(({ event, count, first_time, last_time, is_new }) =>
      [shortName(event), numberText(count), first_time, last_time].concat(
        isAsked ? [is_new === true ? 'yes' : 'no'] : [],
      ),
    );
  terminal.data('');
  terminal.table(['EVENT', 'COUNT', 'FIRST', 'LAST', ...(isAsked ? ['NEW'] : [])], rows);
  sayRest(terminal, events.length - eventsShown, 'names');
}

/** Ids that stand out: the busiest are often default values, those of several persons shared devices. */
function showIds(terminal: Terminal, { distinct_ids, busiest, ids_of_several_persons }: CheckResult['identity']): void {
  if (distinct_ids === 0) return;
  terminal.data('');
  terminal.data(`distinct ids: ${numberText(distinct_ids)}; the busiest:`);
  for (const { id, events } of busiest.slice(0, idsShown)) {
    terminal.data(`  ${printable(id)}: ${numberText(events)} events`);
  }
  for (const { id, persons } of ids_of_several_persons.slice(0, idsShown)) {
    terminal.data(`  ${printable(id)} belongs to ${numberText(persons)} persons`);
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
  sayRest(terminal, errors.length - errorsShown, 'reasons');
}

function showSamples(terminal: Terminal, { samples }: CheckResult): void {
  for (const { part, line, source, events } of samples.slice(0, samplesShown)) {
    terminal.data('');
    terminal.data(`${printable(part)}, line ${line}: ${cut(source)}`);
    for (const event of events) terminal.data(`  becomes ${cut(event)}`);
  }
}

/** What verify found, for a person. */
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
  sayRest(terminal, result.differences.length + result.truncated - differencesShown, 'differences');
}

function sayRest(terminal: Terminal, count: number, what: string): void {
  if (count > 0) terminal.note(`and ${numberText(count)} more ${what}; --json shows all that are kept`);
}

function cut(value: unknown): string {
  const text = printable(JSON.stringify(value) ?? '');
  return text.length > sampleCharsMax ? `${text.slice(0, sampleCharsMax)}…` : text;
}
