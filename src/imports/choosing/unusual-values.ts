import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import type { RuleOf, UnusualValue } from '../../wire/contract/unusual-values.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import { FormatOptionsError, type FoundValue, type RecordResult, type RecordTimes } from '../formats/format.ts';
import {
  findLongId,
  findLongName,
  findLongProperty,
  findPadded,
  shortenIds,
  shortenName,
  shortenProperties,
  trimIds,
} from './ids-and-names.ts';
import type { Change } from './step.ts';
import { createTimeRepair, findUnusualTime, type TimeRepair } from './unusual-times.ts';

/** A rule that was chosen for an odd value. */
export interface UnusualValueRule {
  readonly of: UnusualValue;
  /** The value, where an event has one; undefined: it has none. */
  readonly find: (event: WireEvent) => string | undefined;
  /** What becomes of the event; a sentence: why its record is rejected. */
  readonly effect: Change | { readonly reject: string };
}

/** Those that look at events, in the order in which they apply. `now`: ms since the epoch. */
export function unusualValueRules(choice: ImportChoice, now: number): readonly UnusualValueRule[] {
  return [
    paddedIds(choice.padded_ids),
    longIds(choice.long_ids),
    choice.long_names === 'shorten'
      ? { of: 'long_names' as const, find: findLongName, effect: shortenName() }
      : undefined,
    longProperties(choice.long_properties),
    choice.odd_times === 'reject'
      ? {
          of: 'odd_times' as const,
          find: (event: WireEvent) => findUnusualTime(event, now),
          effect: {
            reject: 'expected a time from the year 2000 on that is not in the future, as the rule for odd times asks',
          },
        }
      : undefined,
  ].filter((rule) => rule !== undefined);
}

function paddedIds(rule: RuleOf<'padded_ids'> | undefined): UnusualValueRule | undefined {
  if (rule === undefined || rule === 'keep') return undefined;
  const reject = 'expected ids without white space at their ends, as the rule for padded ids asks';
  return { of: 'padded_ids', find: findPadded, effect: rule === 'trim' ? trimIds() : { reject } };
}

function longIds(rule: RuleOf<'long_ids'> | undefined): UnusualValueRule | undefined {
  if (rule === undefined || rule === 'cut') return undefined;
  const reject = 'expected ids of at most 200 characters, as the rule for long ids asks';
  return { of: 'long_ids', find: findLongId, effect: rule === 'shorten' ? shortenIds() : { reject } };
}

function longProperties(rule: RuleOf<'long_properties'> | undefined): UnusualValueRule | undefined {
  if (rule === undefined || rule === 'keep') return undefined;
  const reject = 'expected names of properties of at most 200 characters, as the rule for long properties asks';
  return {
    of: 'long_properties',
    find: findLongProperty,
    effect: rule === 'shorten' ? shortenProperties() : { reject },
  };
}

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
  rules: readonly UnusualValueRule[],
): ((events: readonly WireEvent[]) => RecordResult | undefined) | undefined {
  const rejects = rules.flatMap(({ of, find, effect }) =>
    typeof effect === 'object' ? [{ of, find, reason: effect.reject }] : [],
  );
  if (rejects.length === 0) return undefined;
  return (events) => {
    for (const { of, find, reason } of rejects) {
      for (const event of events) {
        const value = find(event);
        if (value !== undefined) return { kind: 'unreadable', reason, unusual: [{ of, value }] };
      }
    }
    return undefined;
  };
}

/** The event as the other rules change it, or why they leave it out. `odd`: gets what they found. */
export function ruledEvent(
  event: WireEvent,
  rules: readonly UnusualValueRule[],
  unusual: FoundValue[],
): WireEvent | string {
  let ruled = event;
  for (const { of, find, effect } of rules) {
    const value = typeof effect === 'function' ? find(ruled) : undefined;
    if (value === undefined || typeof effect !== 'function') continue;
    unusual.push({ of, value });
    const next = effect(ruled);
    if (typeof next === 'string') return next;
    ruled = next;
  }
  return ruled;
}
