import type { RunOptions } from '../run/run.ts';
import { problem, warning, type Finding, type PreflightCheck } from './findings.ts';
import type { AdviceWords } from '../run/advice-words.ts';

type Rule = (options: RunOptions, words: AdviceWords, now: number) => Finding | undefined;

/** Finds settings that are valid individually but contradict each other, or that cannot be intended. */
const rules: readonly Rule[] = [rangeInFuture, everythingMayBeRejected];

export const checkSettings: PreflightCheck = {
  name: 'settings',
  run: async ({ options, words, now }) =>
    rules.flatMap((rule) => {
      const found = rule(options, words, now());
      return found === undefined ? [] : [found];
    }),
  late: () => warning('check_failed', 'the settings could not be checked in time', null),
};

function rangeInFuture({ range, choice }: RunOptions, words: AdviceWords, now: number): Finding | undefined {
  const from = range.from ?? choice?.time?.from;
  if (from === undefined || Date.parse(from) < now) return undefined;
  const message = `the range begins at ${from}, which is in the future`;
  return problem('settings_contradict', message, `correct ${words.range}`);
}

function everythingMayBeRejected({ rejectedMax }: RunOptions, words: AdviceWords): Finding | undefined {
  if (rejectedMax < 0.5) return undefined;
  const message = `${words.rejectedMax} lets the load begin although most of the records are rejected`;
  return warning('settings_contradict', message, `omit ${words.rejectedMax}, or give a small share`);
}
