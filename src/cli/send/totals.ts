/**
 * What became of every record. A record that is not unreadable, a duplicate or skipped became one event or several (or, rarely,
 * none), and every event is accepted, rejected or unsent.
 */
export interface Totals {
  /** Records found in the input. */
  read: number;
  /** Events that the records became. */
  events: number;
  /** Stored by the service, or about to be: it has answered that it keeps them. */
  accepted: number;
  /** Refused by the service, for a reason of the event's own. */
  rejected: number;
  /** Not understood here, so never sent. */
  unreadable: number;
  /** Left out because --duplicates drop asked for it. */
  duplicates: number;
  /** Left out because the format has no event for them, or because a table of names says so; see `reasons`. */
  skipped: number;
  /** Neither accepted nor rejected when the command stopped. Sending the file again is safe. */
  unsent: number;
  /** Bodies sent, repetitions included. */
  requests: number;
  /** Bodies that had to be sent again. */
  retries: number;
  /** How often each reason came. */
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

/** Counts a reason; beyond 200 different ones they share a row. */
export function countReason(totals: Totals, reason: string): void {
  const key = totals.reasons.has(reason) || totals.reasons.size < reasonsMax ? reason : 'other reasons';
  totals.reasons.set(key, (totals.reasons.get(key) ?? 0) + 1);
}

/** The totals as lines for a person. `dryRun`: nothing was sent, so nothing was accepted. */
export function totalsLines(totals: Totals, dryRun: boolean): string[] {
  const accepted = dryRun ? `ready to send  ${totals.accepted}` : `accepted  ${totals.accepted}`;
  const optional: readonly (readonly [number, string])[] = [
    [totals.rejected, 'rejected'],
    [totals.unreadable, 'unreadable'],
    [totals.duplicates, 'duplicates left out'],
    [totals.skipped, 'left out'],
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
