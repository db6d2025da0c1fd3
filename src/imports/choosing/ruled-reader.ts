import type { ImportChoice } from '../../contract/import-choice.ts';
import type { WireEvent } from '../../contract/wire-event.ts';
import {
  FormatOptionsError,
  type FoundOdd,
  type RecordReader,
  type RecordResult,
  type RecordTimes,
} from '../formats/format.ts';
import { oddValueRules, type OddValueRule } from './odd-value-rules.ts';
import { createTimeRepair, type TimeRepair } from './odd-times.ts';

export interface RuledReaderOptions {
  /** Where the format's records have their times; undefined: the format does not say. */
  readonly times?: RecordTimes | undefined;
  /** Times after this lie in the future; ms since the epoch. */
  readonly now: number;
}

/**
 * Readers of a format that go by the rules for odd values; where none was chosen they are the format's own. Throws
 * FormatOptionsError for a rule that the format's records have nothing for.
 */
export function withRules(
  create: () => RecordReader,
  choice: ImportChoice,
  { times, now }: RuledReaderOptions,
): () => RecordReader {
  const rules = oddValueRules(choice, now);
  const repair = timeRepair(choice, times, now);
  if (rules.length === 0 && repair === undefined) return create;
  const reject = rejecting(rules);
  return () => {
    const read = create();
    // A reader that remembers must not have seen a record that is rejected: it says once that a device belongs to a user.
    const look = reject === undefined ? undefined : create();
    return (given) => {
      const repaired = repair?.(given);
      const record = repaired?.record ?? given;
      const rejected = look === undefined ? undefined : reject?.(look(record));
      if (rejected !== undefined) return rejected;
      const result = applied(read(record), rules);
      return repaired === undefined ? result : withOdd(result, [{ of: 'odd_times', value: repaired.was }]);
    };
  };
}

function timeRepair(
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

function rejecting(rules: readonly OddValueRule[]): ((result: RecordResult) => RecordResult | undefined) | undefined {
  const rejects = rules.filter(({ effect }) => typeof effect === 'object');
  if (rejects.length === 0) return undefined;
  return (result) => {
    if (result.kind !== 'events') return undefined;
    for (const { of, find, effect } of rejects) {
      for (const event of result.events) {
        const value = find(event);
        if (value !== undefined && typeof effect === 'object') {
          return { kind: 'unreadable', reason: effect.reject, odd: [{ of, value }] };
        }
      }
    }
    return undefined;
  };
}

function applied(result: RecordResult, rules: readonly OddValueRule[]): RecordResult {
  if (result.kind !== 'events') return result;
  const odd: FoundOdd[] = [];
  const leftOut: string[] = [];
  const events: WireEvent[] = [];
  for (const event of result.events) {
    const ruled = ruledEvent(event, rules, odd);
    if (typeof ruled === 'string') leftOut.push(ruled);
    else events.push(ruled);
  }
  const [reason] = leftOut;
  const chosen = { read: result.events.length, leftOut };
  const isNothing = reason !== undefined && events.length === 0;
  const kept = result.notes === undefined ? { chosen } : { chosen, notes: result.notes };
  return withOdd(isNothing ? { kind: 'skipped', reason, ...kept } : { kind: 'events', events, ...kept }, odd);
}

function ruledEvent(event: WireEvent, rules: readonly OddValueRule[], odd: FoundOdd[]): WireEvent | string {
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

function withOdd(result: RecordResult, odd: readonly FoundOdd[]): RecordResult {
  return odd.length === 0 ? result : { ...result, odd: [...(result.odd ?? []), ...odd] };
}
