import type { JsonValue } from '../../base/json.ts';
import { diffJson, type Difference } from '../../pipeline/transform/diff-json.ts';
import type { TrialRecord, TrialStepRecord } from '../../pipeline/transform/trial-record.ts';
import { withoutMarkers } from '../../pipeline/transform/trial-event.ts';
import { printable, type Terminal } from '../terminal.ts';

const valueLengthMax = 200;

/**
 * Shows what happened to one event.
 *
 * @param everyStep shows the changes after each step, not only the total
 */
export function showTrial(
  terminal: Terminal,
  trial: TrialRecord,
  { title, everyStep }: { readonly title: string; readonly everyStep: boolean },
): void {
  const { before, after, steps } = trial;
  const { data, styled } = terminal;
  data(styled('bold', `${title}: ${printable(before.event)} (${printable(before.distinct_id)})`));
  for (const step of steps) {
    for (const line of stepLines(step, everyStep, terminal)) data(`  ${line}`);
  }
  if (everyStep && steps.length > 1) data('  total');
  if (after === null) data(`  dropped by ${printable(steps.at(-1)?.name ?? 'the chain')}`);
  else if (!everyStep || steps.length > 1)
    showChanges(terminal, diffJson(withoutMarkers(before), withoutMarkers(after)));
}

function showChanges(terminal: Terminal, changes: readonly Difference[]): void {
  if (changes.length === 0) terminal.data('  unchanged');
  for (const line of changeLines(changes, terminal)) terminal.data(`  ${line}`);
}

/** Returns lines such as `+ /properties/plan: "pro"`. */
export function changeLines(changes: readonly Difference[], { styled }: Terminal): string[] {
  return changes.map(({ path, op, before, after }) => {
    const where = printable(path) || 'the event';
    if (op === 'add') return styled('green', `+ ${where}: ${shown(after)}`);
    if (op === 'remove') return styled('red', `- ${where}: ${shown(before)}`);
    return styled('yellow', `~ ${where}: ${shown(before)} → ${shown(after)}`);
  });
}

function stepLines(step: TrialStepRecord, everyStep: boolean, terminal: Terminal): string[] {
  const { name, outcome, error, diff, time_ms } = step;
  const head = `${printable(name)}: ${outcome}, ${time_ms} ms`;
  const changes = diff.length === 0 && outcome === 'kept' ? ['unchanged'] : changeLines(diff, terminal);
  const details = [...(everyStep ? changes : []), ...errorLines(error, terminal), ...effectLines(step)];
  return [head, ...details.map((line) => `  ${line}`)];
}

function errorLines(error: TrialStepRecord['error'], { styled }: Terminal): string[] {
  if (error === null) return [];
  const [first, ...others] = `${error.name}: ${error.message}`.split('\n');
  const stack = error.stack.split('\n').filter((line) => line.trimStart().startsWith('at '));
  return [styled('red', printable(first ?? '')), ...[...others, ...stack].map((line) => `  ${printable(line.trim())}`)];
}

function effectLines({ logs, captured, jobs, storage, metrics, truncated }: TrialStepRecord): string[] {
  return [
    ...logs.map(({ level, message }) => `log ${level} ${printable(message)}`),
    ...captured.map(({ event, distinct_id, properties }) =>
      printable(`captured ${event} (${distinct_id}) ${shown(properties)}`),
    ),
    ...jobs.map(({ name, payload, run_at }) => printable(`job ${name} at ${run_at} ${shown(payload)}`)),
    ...Object.entries(storage).map(([key, value]) =>
      printable(value === null ? `deleted ${key}` : `stored ${key}: ${shown(value)}`),
    ),
    ...metrics.map(({ name, kind, value }) => printable(`metric ${name} (${kind}): ${value}`)),
    ...(truncated.length === 0 ? [] : [`truncated: ${truncated.join(', ')}`]),
  ];
}

function shown(value: JsonValue | undefined): string {
  const text = printable(JSON.stringify(value ?? null));
  return text.length > valueLengthMax ? `${text.slice(0, valueLengthMax)}…` : text;
}
