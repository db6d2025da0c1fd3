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

/** A rule that was chosen for one kind of unusual value. */
interface UnusualValueRule {
  readonly of: UnusualValue;
  /** Returns the value if an event has one. */
  readonly find: (event: WireEvent) => string | undefined;
  /** What happens to the event, or the reason with which its record is rejected. */
  readonly effect: Change | { readonly reject: string };
}

/** Returns the rules that apply to events, in order. `now`: ms since the epoch. */
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
            reject:
              'expected a time since the year 2000 that is not in the future, as the rule for unusual times requires',
          },
        }
      : undefined,
  ].filter((rule) => rule !== undefined);
}

function paddedIds(rule: RuleOf<'padded_ids'> | undefined): UnusualValueRule | undefined {
  if (rule === undefined || rule === 'keep') return undefined;
  const reject = 'expected ids without leading or trailing white space, as the rule for padded ids requires';
  return { of: 'padded_ids', find: findPadded, effect: rule === 'trim' ? trimIds() : { reject } };
}

function longIds(rule: RuleOf<'long_ids'> | undefined): UnusualValueRule | undefined {
  if (rule === undefined || rule === 'cut') return undefined;
  const reject = 'expected ids of at most 200 characters, as the rule for long ids requires';
  return { of: 'long_ids', find: findLongId, effect: rule === 'shorten' ? shortenIds() : { reject } };
}

function longProperties(rule: RuleOf<'long_properties'> | undefined): UnusualValueRule | undefined {
  if (rule === undefined || rule === 'keep') return undefined;
  const reject = 'expected property names of at most 200 characters, as the rule for long properties requires';
  return {
    of: 'long_properties',
    find: findLongProperty,
    effect: rule === 'shorten' ? shortenProperties() : { reject },
  };
}

/**
 * Returns `undefined` if no rule repairs times. Throws FormatOptionsError for a rule that needs a time which the format's records
 * do not have.
 */
export function timeRepair(
  { odd_times: rule = 'keep' }: ImportChoice,
  times: RecordTimes | undefined,
  now: number,
): TimeRepair | undefined {
  assertRulesFit({ odd_times: rule }, times);
  return times === undefined ? undefined : createTimeRepair(rule, times, now);
}

/** Whether the records of a format have the times that a rule needs. */
export function fits(rule: string | undefined, times: RecordTimes | undefined): boolean {
  if (rule === 'guess') return (times?.own.length ?? 0) > 0;
  return rule !== 'received' || (times?.received.length ?? 0) > 0;
}

/** Throws FormatOptionsError for a rule that needs a time which the format's records do not have. */
export function assertRulesFit({ odd_times: rule }: ImportChoice, times: RecordTimes | undefined): void {
  if (fits(rule, times)) return;
  const what = rule === 'guess' ? 'the time of an event' : 'when the source received an event';
  throw new FormatOptionsError(`odd_times: ${rule ?? ''} needs a format with a field for ${what}; this one has none`);
}

/** Returns a function that gives the rejection of a record by the rules that reject; `undefined` if none of them does. */
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

/** Applies the other rules to an event. Returns the changed event, or why it is excluded. Adds the values found to `unusual`. */
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
