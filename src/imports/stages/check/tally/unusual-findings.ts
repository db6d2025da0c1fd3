import type { ImportChoice } from '../../../../wire/contract/import-choice.ts';
import {
  unusualValueKeys,
  unusualValues,
  type UnusualValue,
  type RuleOf,
} from '../../../../wire/contract/unusual-values.ts';
import { fits } from '../../../choosing/unusual-values.ts';
import type { RecordTimes } from '../../../formats/format.ts';
import type { AdviceWords } from '../../../run/advice-words.ts';
import type { UnusualFinding } from '../../../run/results.ts';
import { counted, integer } from '../../../../base/integer-text.ts';
import { cutTogether, type UnusualSum } from './unusual-tally.ts';

interface UnusualFindingsOptions {
  readonly words: AdviceWords;
  /** Time fields of the format. */
  readonly times: RecordTimes | undefined;
}

/** Returns unusual values with their outcomes and how to choose other rules. */
export function unusualFindings(
  sum: UnusualSum,
  choice: ImportChoice | undefined,
  { words, times }: UnusualFindingsOptions,
): UnusualFinding[] {
  return unusualValueKeys.flatMap((of) => {
    const found = sum.counts.get(of);
    if (found === undefined) return [];
    const samples = [...found.samples];
    const rule = choice?.[of] ?? unusualValues[of].rules[0];
    const together = of === 'long_ids' && rule === 'cut' ? cutTogether(sum) : 0;
    const outcome =
      `${counted(found.count, ...nouns[of])} (${samples.map((sample) => JSON.stringify(sample)).join(', ')}): ` +
      `${outcomeOf(of, rule)}${together === 0 ? '' : `; ${integer(together)} different ids become fewer that way`}.`;
    const detail = `${outcome} Other rules: ${otherRules(of, rule, { words, times })}.`;
    return [{ of, rule, count: found.count, samples, outcome, detail }];
  });
}

const nouns: Readonly<Record<UnusualValue, readonly [one: string, many: string]>> = {
  padded_ids: [
    'event has an id with leading or trailing white space',
    'events have ids with leading or trailing white space',
  ],
  long_ids: ['event has an id of more than 200 characters', 'events have ids of more than 200 characters'],
  long_names: ['event has a name of more than 200 characters', 'events have names of more than 200 characters'],
  long_properties: [
    'property has a name of more than 200 characters',
    'properties have names of more than 200 characters',
  ],
  odd_times: [
    'event has a time before the year 2000, far in the future, or unreadable',
    'events have a time before the year 2000, far in the future, or unreadable',
  ],
};

const outcomes: { readonly [Value in UnusualValue]: Readonly<Record<RuleOf<Value>, string>> } = {
  padded_ids: {
    keep: 'kept, and different from ids without it',
    trim: 'the white space is removed',
    reject: 'rejected',
  },
  long_ids: {
    cut: 'truncated to that, as the store does',
    shorten: 'shortened to that, with a hash at the end',
    reject: 'rejected',
  },
  long_names: { reject: 'rejected', shorten: 'shortened to that, with a hash at the end' },
  long_properties: {
    keep: 'kept unchanged',
    shorten: 'shortened to that, with a hash at the end',
    reject: 'rejected',
  },
  odd_times: {
    keep: 'times from 1900 until a day ahead are kept, others are rejected; check that the source has the time zone and unit that the format expects',
    guess: 'unambiguous times are read',
    received: 'replaced by the time at which the source received the event, if known',
    reject: 'rejected',
  },
};

function outcomeOf(of: UnusualValue, rule: string): string {
  const known: Readonly<Record<string, string>> = outcomes[of];
  return known[rule] ?? rule;
}

/** Lists the rules that are possible for the format's records. */
export function possibleRules(of: UnusualValue, times: RecordTimes | undefined): readonly string[] {
  return unusualValues[of].rules.filter((rule) => fits(rule, times));
}

function otherRules(of: UnusualValue, rule: string, { words, times }: UnusualFindingsOptions): string {
  return possibleRules(of, times)
    .filter((other) => other !== rule)
    .map((other) => words.rule(of, other))
    .join(', ');
}
