import type { Clock } from '../../base/clock.ts';
import {
  projectStatusSchema,
  serviceStatusSchema,
  type LaneStatus,
  type ServiceStatus,
} from '../../wire/contract/status.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import type { HealthResult } from '../http/health.ts';
import { runFigures } from '../../imports/run/run-figures.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { needsAttention } from './needs-attention.ts';

/** State of the running process; the rest of its status is in the metadata store. */
export interface StatusSource {
  readonly lanes: () => Promise<Readonly<Record<'live' | 'historical', LaneStatus>>>;
  /** Events per second, averaged over the last minute. */
  readonly received: (projectId: number) => Promise<{ readonly live: number; readonly historical: number }>;
  readonly parts: () => Promise<Readonly<Record<string, HealthResult>>>;
  readonly processes: () => Promise<ServiceStatus['processes']>;
  /** Whether data is stored on this machine's disk. */
  readonly keepsData: boolean;
  readonly disk: () => Promise<ServiceStatus['disk']>;
  readonly process: () => Promise<
    Pick<
      ServiceStatus,
      | 'version'
      | 'node'
      | 'started_at'
      | 'uptime_seconds'
      | 'memory_bytes'
      | 'errors'
      | 'store'
      | 'metadata'
      | 'plugin_processes'
    >
  >;
}

export interface StatusRouteDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly status: StatusSource;
}

const tag = 'Status';

/** Routes of the status and of what needs attention. */
export function statusRoutes(deps: StatusRouteDeps): ApiRoute[] {
  return [projectRoute(deps), serviceRoute(deps)];
}

function projectRoute({ db, clock, status }: StatusRouteDeps): ApiRoute {
  return apiRoute({
    method: 'GET',
    path: '/api/projects/:project_id/status',
    scope: 'project:read',
    tag,
    summary: 'Retrieve event rates and what needs attention',
    responses: { 200: projectStatusSchema },
    handler: async (request) => {
      const { id: projectId } = request.project();
      const [lanes, parts, disk, received] = await Promise.all([
        status.lanes(),
        status.parts(),
        status.disk(),
        status.received(projectId),
      ]);
      const where = status.keepsData ? { disk } : {};
      const attention = await needsAttention(db, { projectId, now: clock.now(), lanes, parts, ...where });
      const body = { status: overall(parts), lanes, received_per_second: received, attention };
      return { status: 200, body };
    },
  });
}

function serviceRoute({ db, clock, status }: StatusRouteDeps): ApiRoute {
  return apiRoute({
    method: 'GET',
    path: '/api/status',
    role: 'admin',
    scope: 'organization:read',
    tag,
    summary: 'Retrieve the status of the service',
    description: 'Returns components, processes, stores, disk and errors, for operators.',
    responses: { 200: serviceStatusSchema },
    handler: async () => {
      const [lanes, parts, processes, disk, process, runs] = await Promise.all([
        status.lanes(),
        status.parts(),
        status.processes(),
        status.disk(),
        status.process(),
        runFigures(db, clock.now()),
      ]);
      const body: ServiceStatus = {
        status: overall(parts),
        ...process,
        lanes,
        processes: [...processes],
        disk,
        parts: Object.entries(parts).map(([name, { ok, optional, detail = '' }]) => ({
          name,
          ok,
          required: optional !== true,
          detail,
        })),
        imports: {
          by_state: { ...runs.byState },
          waiting: runs.waiting,
          stalled_seconds: Math.round(runs.stalledMs / 1000),
        },
      };
      return { status: 200, body };
    },
  });
}

function overall(parts: Readonly<Record<string, HealthResult>>): ServiceStatus['status'] {
  const unwell = Object.values(parts).filter(({ ok }) => !ok);
  if (unwell.length === 0) return 'ok';
  return unwell.every(({ optional }) => optional === true) ? 'degraded' : 'unavailable';
}
