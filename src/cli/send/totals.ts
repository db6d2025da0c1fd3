import { counted } from '../../base/integer-text.ts';
import type { Output } from '../terminal.ts';
import { bar, durationText, percent, startProgressLine, type ProgressLine } from '../progress-line.ts';
import type { Input } from './open-input.ts';

/**
 * Outcome of all records. A record that is not unreadable, a duplicate or skipped becomes one or several events (rarely none), and every
 * event is accepted, rejected or unsent.
 */
export interface Totals {
  /** Records found in the input. */
  read: number;
  /** Events converted from the records. */
  events: number;
  /** Accepted by the service, which stores them. */
  accepted: number;
  /** Rejected by the service because of the event itself. */
  rejected: number;
  /** Unreadable, and never sent. */
  unreadable: number;
  /** Dropped because of `--duplicates drop`. */
  duplicates: number;
  /** Skipped because the format has no event for them, or by the table of names; see `reasons`. */
  skipped: number;
  /** Neither accepted nor rejected when the command ended. Sending the file again is safe. */
  unsent: number;
  /** Requests, including retries. */
  requests: number;
  /** Retried requests. */
  retries: number;
  /** Counts by reason. */
  readonly reasons: Map<string, number>;
}

export function newTotals(): Totals {
  return {
    read: 0,
    events: 0,
    accepted: 0,
    rejected: 0,
    unreadable: 0,
    duplicates: 0,
    skipped: 0,
    unsent: 0,
    requests: 0,
    retries: 0,
    reasons: new Map(),
  };
}

const reasonsMax = 200;

/** Counts a reason; beyond 200 reasons, others share a row. */
export function countReason(totals: Totals, reason: string): void {
  const key = totals.reasons.has(reason) || totals.reasons.size < reasonsMax ? reason : 'other reasons';
  totals.reasons.set(key, (totals.reasons.get(key) ?? 0) + 1);
}

/**
 * Returns the totals as lines.
 *
 * @param dryRun nothing was sent, so nothing was accepted
 */
export function totalsLines(totals: Totals, dryRun: boolean): string[] {
  const accepted = dryRun ? `ready to send  ${totals.accepted}` : `accepted  ${totals.accepted}`;
  const optional: readonly (readonly [number, string])[] = [
    [totals.rejected, 'rejected'],
    [totals.unreadable, 'unreadable'],
    [totals.duplicates, 'duplicates dropped'],
    [totals.skipped, 'skipped'],
    [totals.unsent, 'not sent'],
  ];
  return [
    `read  ${totals.read}`,
    accepted,
    ...optional.filter(([count]) => count > 0).map(([count, what]) => `${what}  ${count}`),
    ...[...totals.reasons]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, 20)
      .map(([reason, count]) => `  ${count} × ${reason}`),
  ];
}

export function totalsJson(totals: Totals): Record<string, unknown> {
  return { ...totals, reasons: Object.fromEntries(totals.reasons) };
}

export function startProgress(
  input: Pick<Input, 'bytesRead' | 'bytesTotal'>,
  totals: Totals,
  out: Output,
): ProgressLine {
  const startedAt = Date.now();
  return startProgressLine(
    () => progressText(input.bytesRead(), input.bytesTotal, totals, Date.now() - startedAt),
    out,
  );
}

/** Returns `[########        ]  42 %  120,000 events  5,300/s  ETA 0:31  3 rejected`, without bar and ETA if the size is unknown. */
export function progressText(read: number, total: number | undefined, totals: Totals, elapsedMs: number): string {
  const done = totals.accepted + totals.rejected + totals.unreadable + totals.duplicates + totals.skipped;
  const seconds = Math.max(elapsedMs, 1) / 1000;
  const share = total === undefined || total === 0 ? undefined : Math.min(1, read / total);
  const bad = totals.rejected + totals.unreadable;
  return [
    ...(share === undefined ? [] : [bar(share), percent(share)]),
    counted(done, 'event'),
    `${Math.round(done / seconds).toLocaleString('en-US')}/s`,
    ...(share === undefined || share === 0 || share === 1
      ? []
      : [`ETA ${durationText((seconds * (1 - share)) / share)}`]),
    ...(bad === 0 ? [] : [`${bad.toLocaleString('en-US')} rejected`]),
    ...(totals.retries === 0 ? [] : [counted(totals.retries, 'retry', 'retries')]),
  ].join('  ');
}
