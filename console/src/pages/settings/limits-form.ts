import type {
  LimitOverrides,
  ProjectLimitName,
  ProjectLimitsRecord,
} from '../../../../src/wire/contract/project-limits.ts';

/** Limits as typed: empty applies the default, 0 means unlimited. */
export type LimitsForm = Readonly<Record<ProjectLimitName, string>>;

const limitMax = 1_000_000_000_000;

export function formOf(record: LimitOverrides): LimitsForm {
  const textOf = (limit: number | null): string => (limit === null ? '' : String(limit));
  return {
    events_per_second: textOf(record.events_per_second),
    bytes_per_second: textOf(record.bytes_per_second),
    backlog_bytes: textOf(record.backlog_bytes),
  };
}

/** Returns what is wrong with a typed limit, or `undefined`. */
export function limitFault(text: string): string | undefined {
  const isLimit = /^\d{1,13}$/.test(text.trim()) && Number(text) <= limitMax;
  return text.trim() === '' || isLimit
    ? undefined
    : 'Expected a whole number, 0 for unlimited, or nothing for the default.';
}

/** Returns the limits, or `undefined` if something typed is invalid. */
export function limitsOf(form: LimitsForm): LimitOverrides | undefined {
  if (Object.values(form).some((text) => limitFault(text) !== undefined)) return undefined;
  const limitOf = (text: string): number | null => (text.trim() === '' ? null : Number(text));
  return {
    events_per_second: limitOf(form.events_per_second),
    bytes_per_second: limitOf(form.bytes_per_second),
    backlog_bytes: limitOf(form.backlog_bytes),
  };
}

/** Returns the default of the service, as shown in an empty input. */
export function defaultText({ defaults }: Pick<ProjectLimitsRecord, 'defaults'>, name: ProjectLimitName): string {
  const limit = defaults[name];
  return limit === 0 ? 'Default: unlimited' : `Default: ${limit.toLocaleString('en')}`;
}
