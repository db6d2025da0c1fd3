import { counted } from '../../../../base/integer-text.ts';
import type { PlanPolicy } from '../../../../wire/contract/plan-policies.ts';
import type { PlanCount } from './plan-tally.ts';

/** A finding about one rule of the tracking plan. */
export interface PlanFinding {
  readonly count: number;
  readonly samples: readonly string[];
  readonly detail: string;
}

const findingsMax = 50;
const outcomes: Readonly<Record<PlanPolicy, string>> = {
  warn: 'stored unchanged',
  drop: 'skipped',
  dead_letter: 'rejected',
};

/** Returns one finding for each rule that events violate, the most frequent first; those beyond the limit together. */
export function planFindings(counts: readonly PlanCount[], version: number | undefined): PlanFinding[] {
  const plan = `the tracking plan (version ${version ?? 0})`;
  const shown = counts.slice(0, findingsMax).map((each) => ({
    count: each.count,
    samples: each.samples,
    detail: `${ruleWords(each)} violated ${plan} ${counted(each.count, 'time')}: these events are ${outcomes[each.policy]}.`,
  }));
  const others = counts.slice(findingsMax);
  if (others.length === 0) return shown;
  const count = others.reduce((sum, each) => sum + each.count, 0);
  const detail = `${counted(others.length, 'other rule')} of ${plan} ${others.length === 1 ? 'was' : 'were'} violated ${counted(count, 'time')}.`;
  return [...shown, { count, samples: others.flatMap(({ samples }) => samples), detail }];
}

function ruleWords({ event, property, rule }: PlanCount): string {
  if (rule === 'unplanned_event') return `Unplanned events ${JSON.stringify(event)}`;
  if (event === '') return 'Further events';
  const of = `Events ${JSON.stringify(event)}`;
  if (rule === 'unplanned_property') return `${of} with the unplanned property ${JSON.stringify(property)}`;
  if (rule === 'required') return `${of} without the required property ${JSON.stringify(property)}`;
  return `${of} with another ${JSON.stringify(property)} than planned (${rule})`;
}
