import { familyPages } from '../../wire/contract/console-pages.ts';
import type { Attention, LaneStatus, ServiceStatus } from '../../wire/contract/status.ts';
import type { HealthResult } from '../http/health.ts';
import { runsThatFailedLast } from '../../imports/run/latest-runs.ts';
import { runsThatWait } from '../../imports/run/list-runs.ts';
import type { Run } from '../../imports/run/run.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { findLimited } from '../../stores/metadata/project-limits.ts';
import { advice, limitedWords } from '../../queue/notices/advice.ts';
import { diskWords, isDiskLow } from '../../queue/notices/disk-low.ts';

export interface AttentionInput {
  readonly projectId: number;
  /** ms since the epoch. */
  readonly now: number;
  readonly lanes: Readonly<Record<'live' | 'historical', LaneStatus>>;
  readonly parts: Readonly<Record<string, HealthResult>>;
  /** `undefined` if the disk holds no data. */
  readonly disk?: ServiceStatus['disk'];
}

/** Maximum of configs listed individually. */
const configsMax = 20;

/** Returns what needs attention in a project, errors first. */
export async function needsAttention(db: Queries, input: AttentionInput): Promise<Attention[]> {
  const { projectId } = input;
  const found = await Promise.all([
    failingConfigs(db, projectId),
    troubledRuns(db, projectId),
    deadLetters(db, projectId),
    agreements(db, projectId),
    limited(db, input),
  ]);
  const all = [...ofService(input), ...found.flat()];
  return [...all.filter(({ severity }) => severity === 'error'), ...all.filter(({ severity }) => severity !== 'error')];
}

function ofService({ lanes, parts, disk }: AttentionInput): Attention[] {
  const found: Attention[] = [];
  const here = { count: 1, since: null, target: 'status' };
  for (const [name, { ok, optional, detail }] of Object.entries(parts)) {
    if (ok) continue;
    const severity = optional === true ? 'warning' : 'error';
    const summary = detail ?? `The part "${name}" does not work.`;
    const action = 'No events are lost. See the status page and the service log for details.';
    found.push({ code: 'part_unwell', severity, summary, action, ...here });
  }
  for (const [lane, { is_full: isFull, waiting_events: waiting }] of Object.entries(lanes)) {
    if (!isFull) continue;
    const summary = `${waiting} events of the ${lane} lane are waiting, which is the limit: new ones are refused.`;
    found.push({ code: 'lane_full', severity: 'error', summary, action: advice.lag_high, ...here });
  }
  if (disk === undefined) return found;
  if (isDiskLow(disk)) {
    found.push({ code: 'disk_low', severity: 'error', summary: diskWords(disk), action: advice.disk_low, ...here });
  }
  return found;
}

async function failingConfigs(db: Queries, projectId: number): Promise<Attention[]> {
  const rows = await db
    .selectFrom('plugin_configs as c')
    .innerJoin('plugins as p', 'p.id', 'c.plugin_id')
    .select(['c.id', 'c.family', 'c.name', 'c.error', 'p.name as plugin'])
    .where('c.project_id', '=', projectId)
    .where('c.enabled', '=', 1)
    .where('c.deleted', '=', 0)
    .where('c.error', '!=', '')
    // Errors set by a run are reported with the run.
    .where('c.error_source', '!=', 'import')
    .orderBy('c.id')
    .limit(configsMax)
    .execute();
  return rows.map(({ id, family, name, error, plugin }) => ({
    code: 'config_failing',
    severity: 'error',
    summary: `${name === '' ? plugin : name}: ${error}`,
    action: advice.config_failing,
    count: 1,
    since: null,
    target: `${familyPages[family]}/${id}`,
  }));
}

async function troubledRuns(db: Queries, projectId: number): Promise<Attention[]> {
  const [failed, waiting] = await Promise.all([runsThatFailedLast(db, projectId), runsThatWait(db, projectId)]);
  return [
    ...failed.map((run) => ofRun(run, 'run_failed', run.reason, advice.run_failed)),
    ...waiting.map((run) => ofRun(run, 'run_waiting', run.waiting?.reason ?? '', advice.run_waiting)),
  ];
}

function ofRun(run: Run, code: 'run_failed' | 'run_waiting', reason: string, action: string): Attention {
  return {
    code,
    severity: code === 'run_failed' ? 'error' : 'warning',
    summary: `Import from ${run.source}: ${reason}`,
    action,
    count: 1,
    since: run.finishedAt === null ? null : new Date(run.finishedAt).toISOString(),
    target: `imports/${run.configId}/runs/${run.id}`,
  };
}

async function deadLetters(db: Queries, projectId: number): Promise<Attention[]> {
  const { count, since } = await db
    .selectFrom('dead_letters')
    .select((eb) => [eb.fn.countAll<number | string>().as('count'), eb.fn.min('received_at').as('since')])
    .where('project_id', '=', projectId)
    .where('state', '=', 'open')
    .executeTakeFirstOrThrow();
  if (Number(count) === 0) return [];
  const summary = `${count} ${Number(count) === 1 ? 'event' : 'events'} could not be stored.`;
  return [
    {
      code: 'dead_letters_open',
      severity: 'warning',
      summary,
      action: advice.dead_letters,
      count: Number(count),
      since,
      target: 'dead-letters',
    },
  ];
}

async function limited(db: Queries, { projectId, now }: AttentionInput): Promise<Attention[]> {
  const found = await findLimited(db, now, 1, projectId);
  return found.map(({ events }) => ({
    code: 'project_limited',
    severity: 'warning',
    summary: limitedWords(events),
    action: advice.project_limited,
    count: events,
    since: null,
    target: 'settings',
  }));
}

async function agreements(db: Queries, projectId: number): Promise<Attention[]> {
  const { count, since } = await db
    .selectFrom('historical_migrations')
    .select((eb) => [eb.fn.countAll<number | string>().as('count'), eb.fn.min('created_at').as('since')])
    .where('project_id', '=', projectId)
    .where('state', '=', 'filed')
    .executeTakeFirstOrThrow();
  if (Number(count) === 0) return [];
  const summary = `${count} ${Number(count) === 1 ? 'request' : 'requests'} for a historical import ${Number(count) === 1 ? 'needs' : 'need'} approval.`;
  const action = 'Approve or reject it; until then, imports that require approval are refused.';
  return [
    {
      code: 'agreement_filed',
      severity: 'warning',
      summary,
      action,
      count: Number(count),
      since,
      target: 'agreements',
    },
  ];
}
