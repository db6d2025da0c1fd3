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
import { integer } from '../../../../base/integer-text.ts';
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
      `${integer(found.count)} ${nouns[of]} (${samples.map((sample) => JSON.stringify(sample)).join(', ')}): ` +
      `${outcomeOf(of, rule)}${together === 0 ? '' : `; ${integer(together)} different ids become fewer that way`}.`;
    const detail = `${outcome} Other rules: ${otherRules(of, rule, { words, times })}.`;
    return [{ of, rule, count: found.count, samples, outcome, detail }];
  });
}

const nouns: Readonly<Record<UnusualValue, string>> = {
  padded_ids: 'events have ids with leading or trailing white space',
  long_ids: 'events have ids of more than 200 characters',
  long_names: 'events have names of more than 200 characters',
  long_properties: 'properties have names of more than 200 characters',
  odd_times: 'events have a time before the year 2000, far in the future, or unreadable',
};

const outcomes: { readonly [Value in UnusualValue]: Readonly<Record<RuleOf<Value>, string>> } = {
  padded_ids: {
    keep: 'they are different from the ids without it',
    trim: 'it is removed',
    reject: 'their records are rejected',
  },
  long_ids: {
    cut: 'they are truncated to that, as the store does',
    shorten: 'they are shortened to that, with a hash at the end',
    reject: 'their records are rejected',
  },
  long_names: { reject: 'they are rejected', shorten: 'they are shortened to that, with a hash at the end' },
  long_properties: {
    keep: 'they stay as they are',
    shorten: 'they are shortened to that, with a hash at the end',
    reject: 'their records are rejected',
  },
  odd_times: {
    keep: 'from 1900 until a day ahead they stay, others are rejected; check that the source has the time zone and unit that the format expects',
    guess: 'unambiguous times are read',
    received: 'the time at which the source received them replaces it, if known',
    reject: 'their records are rejected',
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
