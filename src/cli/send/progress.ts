import type { Output } from '../terminal.ts';
import { bar, durationText, percent, startProgressLine, type ProgressLine } from '../progress-line.ts';
import type { Input } from './open-input.ts';
import type { Totals } from './totals.ts';

export type Progress = ProgressLine;

export function startProgress(input: Pick<Input, 'bytesRead' | 'bytesTotal'>, totals: Totals, out: Output): Progress {
  const startedAt = Date.now();
  return startProgressLine(
    () => progressText(input.bytesRead(), input.bytesTotal, totals, Date.now() - startedAt),
    out,
  );
}

/** `[########        ]  42 %  120,000 events  5,300/s  ETA 0:31  3 rejected`; without a size, without bar and ETA. */
export function progressText(read: number, total: number | undefined, totals: Totals, elapsedMs: number): string {
  const done = totals.accepted + totals.rejected + totals.unreadable + totals.duplicates + totals.skipped;
  const seconds = Math.max(elapsedMs, 1) / 1000;
  const share = total === undefined || total === 0 ? undefined : Math.min(1, read / total);
  const bad = totals.rejected + totals.unreadable;
  return [
    ...(share === undefined ? [] : [bar(share), percent(share)]),
    `${done.toLocaleString('en-US')} events`,
    `${Math.round(done / seconds).toLocaleString('en-US')}/s`,
    ...(share === undefined || share === 0 || share === 1
      ? []
      : [`ETA ${durationText((seconds * (1 - share)) / share)}`]),
    ...(bad === 0 ? [] : [`${bad.toLocaleString('en-US')} rejected`]),
    ...(totals.retries === 0 ? [] : [`${totals.retries} retries`]),
  ].join('  ');
}
