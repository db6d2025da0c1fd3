import type { RetentionPolicy } from '../../../../src/wire/contract/retention.ts';

/** Days as typed: empty keeps events permanently. */
interface DaysForm {
  readonly live: string;
  readonly historical: string;
}

export interface RuleForm extends DaysForm {
  /** Identifies the row while it is edited. */
  readonly id: number;
  readonly event: string;
}

export interface RetentionForm extends DaysForm {
  readonly rules: readonly RuleForm[];
}

const daysMax = 36_500;

export function formOf(policy: RetentionPolicy): RetentionForm {
  const daysOf = (days: number | null): string => (days === null ? '' : String(days));
  return {
    live: daysOf(policy.live_days),
    historical: daysOf(policy.historical_days),
    rules: policy.events.map(({ event, live_days, historical_days }, id) => {
      return { id, event, live: daysOf(live_days), historical: daysOf(historical_days) };
    }),
  };
}

/** Returns what is wrong with typed days, or `undefined`. */
export function daysFault(text: string): string | undefined {
  const isDays = /^[1-9]\d*$/.test(text.trim()) && Number(text) <= daysMax;
  return text.trim() === '' || isDays ? undefined : `Expected 1 to ${daysMax} days, or nothing to keep all.`;
}

/** Returns what is wrong with the name of a rule, or `undefined`. */
export function nameFault({ rules }: RetentionForm, { id, event }: RuleForm): string | undefined {
  if (event === '') return 'Expected the name of an event.';
  const isTwice = rules.some((rule) => rule.id !== id && rule.event === event);
  return isTwice ? 'This name is listed twice.' : undefined;
}

/** Returns the policy, or `undefined` if something typed is invalid. */
export function policyOf(form: RetentionForm): RetentionPolicy | undefined {
  const texts = [form, ...form.rules].flatMap(({ live, historical }) => [live, historical]);
  if (texts.some((text) => daysFault(text) !== undefined)) return undefined;
  if (form.rules.some((rule) => nameFault(form, rule) !== undefined)) return undefined;
  const daysOf = (text: string): number | null => (text.trim() === '' ? null : Number(text));
  return {
    live_days: daysOf(form.live),
    historical_days: daysOf(form.historical),
    events: form.rules.map(({ event, live, historical }) => {
      return { event, live_days: daysOf(live), historical_days: daysOf(historical) };
    }),
  };
}
