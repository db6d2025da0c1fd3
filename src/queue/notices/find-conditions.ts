import { isoMicros } from '../../base/clock.ts';
import { hourMs } from '../../base/time.ts';
import { familyPages } from '../../wire/contract/console-pages.ts';
import type { NoticeEvent } from '../../wire/contract/notices.ts';
import type { LaneStatus } from '../../wire/contract/status.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { findLimited } from '../../stores/metadata/project-limits.ts';
import { advice, limitedWords } from './advice.ts';
import type { Condition } from './conditions.ts';
import { diskWords, isDiskLow, type DiskRoom } from './disk-low.ts';

export interface ConditionLimits {
  /** Dead letters of a project per hour. */
  readonly deadLettersMax: number;
  /** Violations of a project's tracking plan within the present hour and the one before. */
  readonly violationsMax: number;
  readonly lagSecondsMax: number;
}

/** What the checking process itself knows about the service. */
export interface ServiceFacts {
  readonly lanes: () => Promise<Readonly<Record<'live' | 'historical', LaneStatus>>>;
  /** `undefined` means that the disk holds no lasting data. */
  readonly disk: (() => Promise<DiskRoom>) | undefined;
}

export interface FindConditionsDeps extends ServiceFacts {
  readonly db: Queries;
  readonly limits: ConditionLimits;
}

/** Maximum conditions of one kind; more notifications would be noise. */
const foundMax = 200;

/** Finds all present conditions. `now` is in ms, by the clock of the database. */
export async function findConditions(deps: FindConditionsDeps, now: number): Promise<Condition[]> {
  const found = await Promise.all([
    failingConfigs(deps.db),
    failingSchedules(deps.db),
    waitingRuns(deps.db),
    deadLetters(deps, now),
    violations(deps, now),
    limitedProjects(deps, now),
    lowDisk(deps),
    lateEvents(deps),
  ]);
  return found.flat();
}

async function failingConfigs(db: Queries): Promise<Condition[]> {
  const rows = await db
    .selectFrom('plugin_configs as c')
    .innerJoin('plugins as p', 'p.id', 'c.plugin_id')
    .select(['c.id', 'c.project_id', 'c.family', 'c.name', 'c.error', 'p.name as plugin'])
    .where('c.enabled', '=', 1)
    .where('c.deleted', '=', 0)
    .where('c.error', '!=', '')
    // An error recorded by a run is reported for the run.
    .where('c.error_source', '!=', 'import')
    .orderBy('c.id')
    .limit(foundMax)
    .execute();
  return rows.map(({ id, project_id: projectId, family, name, error, plugin }) => {
    const called = name === '' ? plugin : name;
    return {
      subject: `config ${id}`,
      notice: {
        event: 'config_failing',
        projectId,
        summary: `${called}: ${error}`,
        action: advice.config_failing,
        target: `${familyPages[family]}/${id}`,
        details: { config: id },
      },
      recovered: `${called} works again.`,
    };
  });
}

async function failingSchedules(db: Queries): Promise<Condition[]> {
  const rows = await db
    .selectFrom('import_schedules as s')
    .innerJoin('plugin_configs as c', 'c.id', 's.config_id')
    .innerJoin('plugins as p', 'p.id', 'c.plugin_id')
    .select(['s.config_id', 's.project_id', 's.error', 'c.name', 'p.name as plugin'])
    .where('s.error', '!=', '')
    .where('s.paused', '=', 0)
    .where('c.deleted', '=', 0)
    .orderBy('s.config_id')
    .limit(foundMax)
    .execute();
  return rows.map(({ config_id: config, project_id: projectId, error, name, plugin }) => {
    const called = name === '' ? plugin : name;
    return {
      subject: `schedule ${config}`,
      notice: {
        event: 'schedule_failing',
        projectId,
        summary: `The schedule of ${called} could not start a run: ${error}`,
        action: advice.schedule_failing,
        target: `imports/${config}`,
        details: { config },
      },
      recovered: `The schedule of ${called} works again.`,
    };
  });
}

async function waitingRuns(db: Queries): Promise<Condition[]> {
  const rows = await db
    .selectFrom('import_runs')
    .select(['id', 'project_id', 'config_id', 'source', 'waiting'])
    .where('state', '=', 'running')
    .where('waiting', 'is not', null)
    .where('project_id', '!=', 0)
    .orderBy('id')
    .limit(foundMax)
    .execute();
  return rows.map(({ id, project_id: projectId, config_id: config, source, waiting }) => ({
    subject: `run ${id}`,
    notice: {
      event: 'run_waiting',
      projectId,
      summary: `Import from ${source} waits: ${(JSON.parse(waiting ?? '{}') as { reason?: string }).reason ?? ''}`,
      action: advice.run_waiting,
      target: `imports/${config}/runs/${id}`,
      details: { run: id, config },
    },
    // The end of the run is an event in its own right.
    recovered: '',
  }));
}

async function deadLetters({ db, limits }: FindConditionsDeps, now: number): Promise<Condition[]> {
  const max = limits.deadLettersMax;
  const projects = await projectsWithListener(db, 'dead_letters_high');
  const found: Condition[] = [];
  for (const projectId of projects) {
    const { count } = await db
      .selectFrom((of) =>
        of
          .selectFrom('dead_letters')
          .select('id')
          .where('project_id', '=', projectId)
          .where('state', '=', 'open')
          .where('received_at', '>', isoMicros(now - hourMs))
          .limit(max + 1)
          .as('letter'),
      )
      .select((eb) => eb.fn.countAll<number | string>().as('count'))
      .executeTakeFirstOrThrow();
    if (Number(count) <= max) continue;
    found.push({
      subject: `dead letters ${projectId}`,
      notice: {
        event: 'dead_letters_high',
        projectId,
        summary: `More than ${max} events could not be stored in the last hour.`,
        action: advice.dead_letters,
        target: 'dead-letters',
        details: { limit: max },
      },
      recovered: `Failed events of the last hour are back to at most ${max}: they were replayed or discarded, or are older.`,
    });
  }
  return found;
}

async function violations({ db, limits }: FindConditionsDeps, now: number): Promise<Condition[]> {
  const max = limits.violationsMax;
  const projects = await projectsWithListener(db, 'tracking_plan_violated');
  if (projects.length === 0) return [];
  const rows = await db
    .selectFrom('tracking_plan_violations')
    .select(['project_id', (eb) => eb.fn.sum<number | string>('count').as('count')])
    .where('project_id', 'in', projects)
    .where('hour', '>=', isoMicros(Math.floor(now / hourMs) * hourMs - hourMs))
    .groupBy('project_id')
    .having((eb) => eb.fn.sum('count'), '>', max)
    .execute();
  return rows.map(({ project_id: projectId }) => ({
    subject: `tracking plan ${projectId}`,
    notice: {
      event: 'tracking_plan_violated',
      projectId,
      summary: `Events violated the tracking plan more than ${max} times within two hours.`,
      action: advice.tracking_plan_violated,
      target: 'tracking-plan?tab=violations',
      details: { limit: max },
    },
    recovered: `Violations of the tracking plan are back to at most ${max} within two hours.`,
  }));
}

async function limitedProjects({ db }: FindConditionsDeps, now: number): Promise<Condition[]> {
  const limited = await findLimited(db, now, foundMax);
  return limited.map(({ projectId, events }) => ({
    subject: `limits ${projectId}`,
    notice: {
      event: 'project_limited',
      projectId,
      summary: limitedWords(events),
      action: advice.project_limited,
      target: 'settings',
      details: { events },
    },
    recovered: 'Events of the project are no longer refused because of its limits.',
  }));
}

async function projectsWithListener(db: Queries, event: NoticeEvent): Promise<readonly number[]> {
  const rows = await db
    .selectFrom('notice_destinations')
    .select(['project_id', 'events'])
    .where('enabled', '=', 1)
    .where('project_id', 'is not', null)
    .execute();
  const ids = rows.filter(({ events }) => (JSON.parse(events) as string[]).includes(event));
  return [...new Set(ids.map(({ project_id: id }) => id).filter((id) => id !== null))];
}

async function lowDisk({ disk }: FindConditionsDeps): Promise<Condition[]> {
  const room = await disk?.();
  if (room === undefined || !isDiskLow(room)) return [];
  return [
    {
      subject: 'disk',
      notice: {
        event: 'disk_low',
        projectId: null,
        summary: diskWords(room),
        action: advice.disk_low,
        target: 'status',
        details: { ...room },
      },
      recovered: 'The disk of the data directory has room again.',
    },
  ];
}

async function lateEvents({ lanes, limits }: FindConditionsDeps): Promise<Condition[]> {
  const { live } = await lanes();
  if (live.oldest_seconds <= limits.lagSecondsMax) return [];
  return [
    {
      subject: 'lag',
      notice: {
        event: 'lag_high',
        projectId: null,
        summary: `${live.waiting_events} live events are waiting to be stored, the oldest for ${live.oldest_seconds} s.`,
        action: advice.lag_high,
        target: 'status',
        details: { waiting_events: live.waiting_events, oldest_seconds: live.oldest_seconds },
      },
      recovered: `No live event waits longer than ${limits.lagSecondsMax} s.`,
    },
  ];
}
