import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import type { OddValue, RuleOf } from '../../wire/contract/odd-values.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import { findLongName, findLongProperty, shortenName, shortenProperties } from './long-names.ts';
import { findLongId, findPadded, shortenIds, trimIds } from './odd-ids.ts';
import { findOddTime } from './odd-times.ts';
import type { Change } from './step.ts';

/** A rule that was chosen for an odd value. */
export interface OddValueRule {
  readonly of: OddValue;
  /** The value, where an event has one; undefined: it has none. */
  readonly find: (event: WireEvent) => string | undefined;
  /** What becomes of the event; a sentence: why its record is rejected. */
  readonly effect: Change | { readonly reject: string };
}

/** Those that look at events, in the order in which they apply. `now`: ms since the epoch. */
export function oddValueRules(choice: ImportChoice, now: number): readonly OddValueRule[] {
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
          find: (event: WireEvent) => findOddTime(event, now),
          effect: {
            reject: 'expected a time from the year 2000 on that is not in the future, as the rule for odd times asks',
          },
        }
      : undefined,
  ].filter((rule) => rule !== undefined);
}

function paddedIds(rule: RuleOf<'padded_ids'> | undefined): OddValueRule | undefined {
  if (rule === undefined || rule === 'keep') return undefined;
  const reject = 'expected ids without white space at their ends, as the rule for padded ids asks';
  return { of: 'padded_ids', find: findPadded, effect: rule === 'trim' ? trimIds() : { reject } };
}

function longIds(rule: RuleOf<'long_ids'> | undefined): OddValueRule | undefined {
  if (rule === undefined || rule === 'cut') return undefined;
  const reject = 'expected ids of at most 200 characters, as the rule for long ids asks';
  return { of: 'long_ids', find: findLongId, effect: rule === 'shorten' ? shortenIds() : { reject } };
}

function longProperties(rule: RuleOf<'long_properties'> | undefined): OddValueRule | undefined {
  if (rule === undefined || rule === 'keep') return undefined;
  const reject = 'expected names of properties of at most 200 characters, as the rule for long properties asks';
  return {
    of: 'long_properties',
    find: findLongProperty,
    effect: rule === 'shorten' ? shortenProperties() : { reject },
  };
}
