/** Limits of projects in this process: kept up to date, shared with other processes, and reported. */
import { hourMs } from '../../base/time.ts';
import { isoMicros } from '../../base/clock.ts';
import { repeat } from '../../base/repeat.ts';
import { createProjectLimits, type ProjectLimits } from '../../wire/capture/project-limits.ts';
import { rateNames } from '../../wire/capture/project-meters.ts';
import type { LimitedBatch } from '../../wire/capture/refuse-batch.ts';
import { readConfigRevision } from '../../stores/metadata/config-revision.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { listLimits } from '../../stores/metadata/project-limits.ts';
import { addWarnings, type WarningCount } from '../../pipeline/warning-tally.ts';
import { isCluster } from '../config/event-log-kind.ts';
import type { WarnLog } from '../telemetry/log.ts';
import { mergeCounts } from './http.ts';
import { limitDefaultsOf } from './project-limit-defaults.ts';
import type { ServiceDeps } from './service-deps.ts';
import { countCapturing } from './status.ts';

interface ProjectLimitsDeps extends Pick<ServiceDeps, 'db' | 'log' | 'clock' | 'metrics' | 'settings'> {
  /** Id of this process. */
  readonly processId: string;
}

export interface StartedLimits {
  readonly limits: ProjectLimits;
  readonly onLimited: (batch: LimitedBatch) => void;
}

const tickMs = 1000;
/** Live processes are counted, and warnings written, every so many ticks. */
const ticksPerReport = 5;

/**
 * Reads the limits of all projects, so that none is exceeded after a restart, and again within seconds after a change. `parts` receives
 * what must be stopped.
 */
export async function startProjectLimits(deps: ProjectLimitsDeps, parts: AsyncDisposableStack): Promise<StartedLimits> {
  const { db, clock, metrics, settings } = deps;
  const limits = createProjectLimits(limitDefaultsOf(settings));
  const overrides = createOverrides(db, limits);
  const tick = createTick(deps, limits);
  await Promise.all([overrides.refresh(), tick()]);
  const warnings = createLimitWarnings(() => clock.now());
  metrics.beforeText(() => {
    for (const limit of rateNames)
      metrics.set('millrace_projects_near_limit', { limit }, limits.meters.nearLimit(limit));
  });
  const stop = new AbortController();
  const loops = [
    repeat(tickMs, tick, watched(deps.log, 'share the limits of projects', stop)),
    repeat(tickMs, () => overrides.refresh(), watched(deps.log, 'read the limits of projects', stop)),
    repeat(
      tickMs * ticksPerReport,
      () => warnings.write(db),
      watched(deps.log, 'write warnings of limited projects', stop),
    ),
  ];
  parts.defer(async () => {
    stop.abort();
    await Promise.all(loops);
    await warnings
      .write(db)
      .catch((err: unknown) => deps.log.warn({ err }, 'failed to write warnings of limited projects'));
  });
  return { limits, onLimited: warnings.add };
}

function watched(log: WarnLog, what: string, { signal }: AbortController): Parameters<typeof repeat>[2] {
  return { signal, onTrouble: (err) => log.warn({ err }, `failed to ${what}; retrying`) };
}

/** Without an answer of the database, each process keeps its share. */
function createTick({ db, settings, processId }: ProjectLimitsDeps, limits: ProjectLimits): () => Promise<void> {
  if (!isCluster(settings)) return async () => limits.meters.tick(1);
  let ticks = 0;
  let others = 0;
  return async () => {
    if (ticks++ % ticksPerReport === 0) others = await countCapturing(db, processId);
    limits.meters.tick(others + 1);
    await mergeCounts(db, { project_limits: limits.meters });
  };
}

/** Reads overrides when the revision of the configuration has changed. */
function createOverrides(db: Metadata, limits: ProjectLimits): { readonly refresh: () => Promise<void> } {
  let known: number | undefined;
  return {
    refresh: async () => {
      const revision = await readConfigRevision(db);
      if (revision === known) return;
      limits.replace(await listLimits(db));
      known = revision;
    },
  };
}

/** Counts refused events until they are written as ingestion warnings. */
export function createLimitWarnings(now: () => number): {
  readonly add: (batch: LimitedBatch) => void;
  readonly write: (db: Metadata) => Promise<void>;
} {
  const counts = new Map<string, WarningCount>();
  return {
    add: ({ projectId, lane, limit, events }) => {
      const at = now();
      const hour = isoMicros(at - (at % hourMs));
      const key = `${projectId} ${hour}`;
      const type = 'project_limit_exceeded' as const;
      const count = counts.get(key) ?? { projectId, type, hour, count: 0, lastSeen: '', samples: [] };
      counts.set(key, count);
      count.count += events;
      count.lastSeen = isoMicros(at);
      count.samples[0] = { limit, lane, events };
    },
    write: async (db) => {
      const written = structuredClone([...counts.values()]);
      if (written.length === 0) return;
      await db.transaction().execute(async (tx) => {
        const ids = [...new Set(written.map(({ projectId }) => projectId))];
        const rows = await tx.selectFrom('projects').select('id').where('id', 'in', ids).execute();
        const existing = new Set(rows.map(({ id }) => id));
        await addWarnings(
          tx,
          written.filter(({ projectId }) => existing.has(projectId)),
        );
      });
      // Only now: what could not be written is written with the next.
      for (const { projectId, hour, count } of written) {
        const rest = counts.get(`${projectId} ${hour}`);
        if (rest === undefined) continue;
        rest.count -= count;
        if (rest.count === 0) counts.delete(`${projectId} ${hour}`);
      }
    },
  };
}
