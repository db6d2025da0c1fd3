import { counted, plural } from '../../base/integer-text.ts';
import { skippedReasons } from '../../wire/contract/skipped-reasons.ts';
import { bar, durationText, numberText, percent, startProgressLine } from '../progress-line.ts';
import { printable, type Terminal } from '../terminal.ts';
import type { RunView } from './run-view.ts';

/**
 * Returns `export 1/5  [####      ]  42 %  ETA 0:31  3/12 parts  120,000 records  5,300/s  3 rejected`, or what the run waits for. Stage,
 * reason, bar and remaining time come first, because a narrow terminal cuts the end.
 */
export function runLine(view: RunView): string {
  const { share, waiting, unit } = view;
  // Parts of the source until the check, then days of events.
  const part = unit === 'records' ? 'part' : 'day';
  const parts = plural(view.parts_total ?? view.parts_done, part, `${part}s`);
  const total = view.parts_total === null ? '' : `/${numberText(view.parts_total)}`;
  return [
    `${view.stage} ${view.stage_number}/${view.stages}`,
    ...(view.state === 'running' ? [] : [view.state]),
    ...(waiting === null ? [] : [`waits: ${printable(waiting.reason)}`]),
    ...(share === null ? [] : [bar(share), percent(share)]),
    ...(view.eta_seconds === null || view.eta_seconds === 0 ? [] : [`ETA ${durationText(view.eta_seconds)}`]),
    ...(view.parts_done === 0 && view.parts_total === null ? [] : [`${numberText(view.parts_done)}${total} ${parts}`]),
    doneText(view),
    ...(view.rate === 0 || waiting !== null ? [] : [`${numberText(view.rate)}/s`]),
    ...(view.totals.rejected === 0 ? [] : [`${numberText(view.totals.rejected)} rejected`]),
  ].join('  ');
}

function doneText({ done, unit }: Pick<RunView, 'done' | 'unit'>): string {
  return counted(done, unit === 'records' ? 'record' : 'event');
}

/** Returns the outcome of the records, one figure per line, which add up from top to bottom. */
export function totalsLines({ totals }: RunView): string[] {
  const skipped = Object.values(totals.skipped).reduce((sum, count) => sum + count, 0);
  const rows: [string, number | null][] = [
    ['records', totals.records],
    ['skipped', skipped],
    ['rejected', totals.rejected],
    ['events', totals.events],
    ['duplicates', totals.duplicates],
    ['loaded', totals.loaded],
    ['verified', totals.verified],
  ];
  const lines = rows.map(
    ([name, count]) => `${name.padEnd(12)}${count === null ? 'not checked' : numberText(count).padStart(13)}`,
  );
  const reasons = skippedReasons(totals.skipped, totals.left_out).map(
    ([reason, count]) => `  skipped: ${numberText(count)} – ${printable(reason)}`,
  );
  const chosen = Object.entries(totals.left_out).map(
    ([reason, count]) => `  events excluded: ${numberText(count)} – ${printable(reason)}`,
  );
  const replaced = Object.entries(totals.replaced).map(
    ([run, count]) => `  undone: ${numberText(count)} – run ${run}, which it replaces`,
  );
  return [...lines, ...reasons, ...chosen, ...replaced];
}

export function showRuns(terminal: Terminal, runs: readonly RunView[]): void {
  terminal.table(
    ['RUN', 'SOURCE', 'STATE', 'STAGE', 'DONE', 'RECORDS', 'LOADED', 'REJECTED', 'CREATED'],
    runs.map((each) => [
      each.id,
      each.source,
      each.state,
      each.stage,
      each.share === null ? '-' : percent(each.share).trim(),
      numberText(each.totals.records),
      numberText(each.totals.loaded),
      numberText(each.totals.rejected),
      each.created_at,
    ]),
  );
}

interface FollowOptions {
  /** Whether to print every step as a line of JSON. */
  readonly json?: boolean | undefined;
  /** Whether to show anything before the end. */
  readonly progress: boolean;
}

/** Shows the steps of a run as they happen and returns the last one. */
export async function follow(
  terminal: Terminal,
  first: RunView,
  steps: AsyncIterable<RunView>,
  { json = false, progress }: FollowOptions,
): Promise<RunView> {
  let view = first;
  const line = progress && !json ? startProgressLine(() => runLine(view), terminal.process.stderr) : undefined;
  let printed = '';
  try {
    for await (const step of steps) {
      for (const { stage, done, unit } of step.behind.slice(view.behind.length)) {
        line?.say(`${stage} done: ${doneText({ done, unit })}`);
      }
      view = step;
      if (json && progress) {
        const text = JSON.stringify({ type: 'progress', ...step });
        if (text !== printed) terminal.data(text);
        printed = text;
      }
    }
  } finally {
    line?.stop();
  }
  return view;
}
