import { isoMicros } from '../../base/clock.ts';
import type { DatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { ScheduledApp } from './app-instances.ts';
import { scheduledTasks, type ScheduledTask } from './outcome.ts';
import { enqueue, lockConfigOfJob } from './queue.ts';

/** Ticks lie at multiples of these since the epoch: full minutes, full hours, midnight UTC. */
const everyMs = {
  runEveryMinute: 60_000,
  runEveryHour: 3_600_000,
  runEveryDay: 86_400_000,
} as const satisfies Record<ScheduledTask, number>;

/**
 * Turns schedules into jobs. Every process does; a key per config, task and tick makes it one job. A tick is skipped while
 * the task's previous run waits or runs. After a standstill the latest tick is made up for, those before it are not.
 */
export interface Schedule {
  /** To be called every second. */
  plan(apps: readonly ScheduledApp[]): Promise<void>;
}

interface ScheduleDeps {
  readonly db: Metadata;
  readonly clock: DatabaseClock;
}

export function createSchedule({ db, clock }: ScheduleDeps): Schedule {
  /** The tick decided last in this process, by config and task: what was skipped stays skipped. */
  let decided = new Map<string, number>();
  return {
    async plan(apps) {
      const now = await clock.now();
      const next = new Map<string, number>();
      for (const app of apps) {
        for (const task of scheduledTasks.filter((name) => app.tasks.includes(name))) {
          const tick = Math.floor(now / everyMs[task]) * everyMs[task];
          const key = `${app.configId}:${task}`;
          const known = decided.get(key);
          if (known !== tick && isAfter(tick, app.updatedAt, now)) await decide(db, app, { task, tick, now });
          next.set(key, tick);
        }
      }
      decided = next;
    },
  };
}

/** A task begins with the first tick after its config was set up so. A change in the future is from before the clock went back. */
function isAfter(tick: number, updatedAt: string, now: number): boolean {
  const changed = Date.parse(updatedAt);
  return tick >= changed || changed > now;
}

interface Tick {
  readonly task: ScheduledTask;
  /** ms since the epoch. */
  readonly tick: number;
  readonly now: number;
}

function decide(db: Metadata, app: ScheduledApp, { task, tick, now }: Tick): Promise<void> {
  return db.transaction().execute(async (tx) => {
    await lockConfigOfJob(tx, app.configId);
    if (!(await isEnabled(tx, app.configId)) || (await isUnderWay(tx, app.configId, task))) return;
    await enqueue(tx, {
      projectId: app.projectId,
      configId: app.configId,
      kind: 'scheduled',
      type: task,
      operation: 'schedule',
      payload: { tick: isoMicros(tick) },
      uniqueKey: `tick:${app.configId}:${task}:${isoMicros(tick)}`,
      runAt: Math.min(tick, now),
      now,
    });
  });
}

async function isEnabled(tx: Queries, configId: number): Promise<boolean> {
  const row = await tx
    .selectFrom('plugin_configs')
    .select('id')
    .where('id', '=', configId)
    .where('enabled', '=', 1)
    .where('deleted', '=', 0)
    .executeTakeFirst();
  return row !== undefined;
}

async function isUnderWay(tx: Queries, configId: number, task: ScheduledTask): Promise<boolean> {
  const row = await tx
    .selectFrom('jobs')
    .select('id')
    .where('kind', '=', 'scheduled')
    .where('state', 'in', ['queued', 'running'])
    .where('config_id', '=', configId)
    .where('type', '=', task)
    .executeTakeFirst();
  return row !== undefined;
}
