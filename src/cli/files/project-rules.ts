import { isDeepStrictEqual } from 'node:util';
import type { JsonValue } from '../../base/json.ts';
import { noOverrides, type LimitOverrides, type ProjectLimitsRecord } from '../../wire/contract/project-limits.ts';
import type { RetentionPolicy, RetentionPreview, RetentionRecord } from '../../wire/contract/retention.ts';
import type { ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import type { Change } from './config-changes.ts';
import type { ProjectEntry } from './configuration-file.ts';

/** How long a project keeps events, and what it may send. */
export interface ProjectRules {
  readonly retention: RetentionPolicy;
  readonly limits: LimitOverrides;
}

const noRules: ProjectRules = {
  retention: { live_days: null, historical_days: null, events: [] },
  limits: noOverrides,
};

/** What changes of the rules. */
export interface RulesPlan {
  readonly changes: readonly Change[];
  /** `undefined` if it does not change. */
  readonly retention?: RetentionChange | undefined;
  /** `undefined` if they do not change. */
  readonly limits?: LimitOverrides | undefined;
}

interface RetentionChange {
  readonly policy: RetentionPolicy;
  /** Events that the policy removes by its preview, which the service compares. */
  readonly expected: number;
  /** Of these, events that the present policy keeps. */
  readonly expires: number;
}

async function readRetention(api: ProjectApi, root: string): Promise<RetentionPolicy> {
  const path = `${root}/retention/`;
  const record = await orEarlier(api.get<RetentionRecord>(path), noRules.retention);
  return { live_days: record.live_days, historical_days: record.historical_days, events: record.events };
}

async function readLimits(api: ProjectApi, root: string): Promise<LimitOverrides> {
  const record = await orEarlier<LimitOverrides>(api.get<ProjectLimitsRecord>(`${root}/limits/`), noRules.limits);
  const { events_per_second, bytes_per_second, backlog_bytes } = record;
  return { events_per_second, bytes_per_second, backlog_bytes };
}

/** A service of an earlier version has no such rules. */
async function orEarlier<T>(answer: Promise<T>, none: T): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof CommandError && error.reason === 'notFound') return none;
    throw error;
  }
}

/** Returns the rules that a project has set, for a file. */
export async function readOwnRules(api: ProjectApi, root: string): Promise<Partial<ProjectRules>> {
  const rules: ProjectRules = { retention: await readRetention(api, root), limits: await readLimits(api, root) };
  return {
    ...(!isDeepStrictEqual(rules.retention, noRules.retention) && { retention: rules.retention }),
    ...(!isDeepStrictEqual(rules.limits, noRules.limits) && { limits: rules.limits }),
  };
}

/**
 * Compares the rules of the file with those of the project. What the file does not mention is not read.
 *
 * @param root path of the project; `undefined` if it must be created
 */
export async function planRules(
  api: ProjectApi,
  { retention, limits }: Pick<ProjectEntry, 'retention' | 'limits'>,
  root: string | undefined,
): Promise<RulesPlan> {
  const ofRetention = retention && (await planRetention(api, { ...noRules.retention, ...retention }, root));
  const ofLimits = limits && (await planLimits(api, { ...noRules.limits, ...limits }, root));
  return {
    changes: [...(ofRetention?.changes ?? []), ...(ofLimits?.changes ?? [])],
    retention: ofRetention?.retention,
    limits: ofLimits?.limits,
  };
}

async function planRetention(api: ProjectApi, policy: RetentionPolicy, root: string | undefined): Promise<RulesPlan> {
  const present = root === undefined ? undefined : await readRetention(api, root);
  const changes = changesOf('retention', present && sorted(present), sorted(policy));
  if (changes.length === 0) return { changes };
  // A project that does not exist has no events.
  const none = { events: 0, newly_expired: 0 };
  const preview =
    root === undefined ? none : await api.send<RetentionPreview>('POST', `${root}/retention/preview/`, policy);
  return { changes, retention: { policy, expected: preview.events, expires: preview.newly_expired } };
}

async function planLimits(api: ProjectApi, limits: LimitOverrides, root: string | undefined): Promise<RulesPlan> {
  const present = root === undefined ? undefined : await readLimits(api, root);
  const changes = changesOf('limits', present, { ...limits });
  return changes.length === 0 ? { changes } : { changes, limits };
}

/** The order of event names has no meaning. */
function sorted({ live_days, historical_days, events }: RetentionPolicy) {
  const byName = events.toSorted((a, b) => (a.event < b.event ? -1 : 1)).map((rule) => Object.assign({}, rule));
  return { live_days, historical_days, events: byName };
}

/** @param before `undefined` for a new project, which has the defaults */
function changesOf<Rules extends Readonly<Record<string, JsonValue>>>(
  section: keyof ProjectRules,
  before: Rules | undefined,
  after: Rules,
): Change[] {
  const present: Readonly<Record<string, JsonValue>> = before ?? { ...noRules[section] };
  return Object.entries(after).flatMap(([key, value]) => {
    const now = present[key] ?? null;
    if (isDeepStrictEqual(now, value)) return [];
    return [{ field: `${section}.${key}`, ...(before !== undefined && { before: now }), after: value }];
  });
}
