import { isoMicros } from '../../base/clock.ts';
import { hourMs } from '../../base/time.ts';
import { familyPages } from '../../wire/contract/console-pages.ts';
import type { NoticeEvent } from '../../wire/contract/notices.ts';
import type { LaneStatus } from '../../wire/contract/status.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { Condition } from './conditions.ts';
import { diskAction, diskWords, isDiskLow, type DiskRoom } from './disk-low.ts';

export interface ConditionLimits {
  /** Dead letters of a project within an hour. */
  readonly deadLettersMax: number;
  readonly lagSecondsMax: number;
}

/** What the process that looks knows of the service. */
export interface ServiceFacts {
  readonly lanes: () => Promise<Readonly<Record<'live' | 'historical', LaneStatus>>>;
  /** Undefined: nothing that lasts lies on it. */
  readonly disk: (() => Promise<DiskRoom>) | undefined;
}

export interface FindConditionsDeps extends ServiceFacts {
  readonly db: Queries;
  readonly limits: ConditionLimits;
}

/** Of one kind; beyond, one more notice helps nobody. */
const foundMax = 200;

/** All that lasts now. `now`: ms, by the clock of the database. */
export async function findConditions(deps: FindConditionsDeps, now: number): Promise<Condition[]> {
  const found = await Promise.all([
    failingConfigs(deps.db),
    failingSchedules(deps.db),
    waitingRuns(deps.db),
    deadLetters(deps, now),
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
    // What a run has put there is told of the run.
    .where('c.error_source', '!=', 'import')
    .orderBy('c.id')
    .limit(foundMax)
    .execute();
  return rows.map(({ id, project_id: projectId, family, name, error, plugin }) => {
    const called = name === '' ? plugin : name;
    return {
      subject: `config ${id}`,
      told: {
        event: 'config_failing',
        projectId,
        summary: `${called}: ${error}`,
        action: 'Events pass it unchanged until it works: correct its settings, or switch it off.',
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
      told: {
        event: 'schedule_failing',
        projectId,
        summary: `The schedule of ${called} could start no run: ${error}`,
        action: 'Correct what it names: the next run makes up for what was missed.',
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
    told: {
      event: 'run_waiting',
      projectId,
      summary: `Import from ${source} waits: ${(JSON.parse(waiting ?? '{}') as { reason?: string }).reason ?? ''}`,
      action: 'It goes on by itself as soon as that is over.',
      target: `imports/${config}/runs/${id}`,
      details: { run: id, config },
    },
    // How it ended is told by itself.
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
      told: {
        event: 'dead_letters_high',
        projectId,
        summary: `More than ${max} events of the last hour could not be stored.`,
        action: 'Look at the reasons; correct and replay them, or discard them.',
        target: 'dead-letters',
        details: { limit: max },
      },
      recovered: `No more than ${max} events of the last hour could not be stored, or somebody has decided on them.`,
    });
  }
  return found;
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
      told: {
        event: 'disk_low',
        projectId: null,
        summary: diskWords(room),
        action: diskAction,
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
      told: {
        event: 'lag_high',
        projectId: null,
        summary: `${live.waiting_events} live events wait to be stored, the oldest for ${live.oldest_seconds} s.`,
        action: 'Look at what holds up the pipeline: the event store, a slow transformation, or the disk.',
        target: 'status',
        details: { waiting_events: live.waiting_events, oldest_seconds: live.oldest_seconds },
      },
      recovered: `No live event waits longer than ${limits.lagSecondsMax} s.`,
    },
  ];
}
