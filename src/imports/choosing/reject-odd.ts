import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import { FormatOptionsError, type FoundOdd, type RecordResult, type RecordTimes } from '../formats/format.ts';
import type { OddValueRule } from './odd-value-rules.ts';
import { createTimeRepair, type TimeRepair } from './odd-times.ts';

/** Undefined: no rule repairs times. Throws FormatOptionsError for a rule that the format's records have nothing for. */
export function timeRepair(
  { odd_times: rule = 'keep' }: ImportChoice,
  times: RecordTimes | undefined,
  now: number,
): TimeRepair | undefined {
  assertRulesFit({ odd_times: rule }, times);
  return times === undefined ? undefined : createTimeRepair(rule, times, now);
}

/** Whether the records of a format have what a rule needs. */
export function fits(rule: string | undefined, times: RecordTimes | undefined): boolean {
  if (rule === 'guess') return (times?.own.length ?? 0) > 0;
  return rule !== 'received' || (times?.received.length ?? 0) > 0;
}

/** Throws FormatOptionsError for a rule that the format's records have nothing for. */
export function assertRulesFit({ odd_times: rule }: ImportChoice, times: RecordTimes | undefined): void {
  if (fits(rule, times)) return;
  const what = rule === 'guess' ? 'which of its fields is the time' : 'when the source received an event';
  throw new FormatOptionsError(`odd_times: ${rule ?? ''} needs a format that says ${what}; this one does not`);
}

/** Why a record with these events is rejected, by those of the rules that reject. Undefined: none of them does. */
export function createRejection(
  rules: readonly OddValueRule[],
): ((events: readonly WireEvent[]) => RecordResult | undefined) | undefined {
  const rejects = rules.flatMap(({ of, find, effect }) =>
    typeof effect === 'object' ? [{ of, find, reason: effect.reject }] : [],
  );
  if (rejects.length === 0) return undefined;
  return (events) => {
    for (const { of, find, reason } of rejects) {
      for (const event of events) {
        const value = find(event);
        if (value !== undefined) return { kind: 'unreadable', reason, odd: [{ of, value }] };
      }
    }
    return undefined;
  };
}

/** The event as the other rules change it, or why they leave it out. `odd`: gets what they found. */
export function ruledEvent(event: WireEvent, rules: readonly OddValueRule[], odd: FoundOdd[]): WireEvent | string {
  let ruled = event;
  for (const { of, find, effect } of rules) {
    const value = typeof effect === 'function' ? find(ruled) : undefined;
    if (value === undefined || typeof effect !== 'function') continue;
    odd.push({ of, value });
    const next = effect(ruled);
    if (typeof next === 'string') return next;
    ruled = next;
  }
  return ruled;
}
