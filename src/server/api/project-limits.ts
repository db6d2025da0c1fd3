import type { Clock } from '../../base/clock.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import {
  projectLimitsChangeSchema,
  projectLimitsSchema,
  type LimitValues,
  type ProjectLimitsRecord,
} from '../../wire/contract/project-limits.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { findLimits, saveLimits, type StoredLimits } from '../../stores/metadata/project-limits.ts';
import { recordChange } from '../../stores/metadata/record-change.ts';
import { actorOf } from '../http/actor.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { allowedProjects } from '../http/auth-queries.ts';

export interface ProjectLimitRouteDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly limitDefaults: LimitValues;
}

const common = { path: '/api/projects/:project_id/limits', tag: 'Projects' } as const;

/** Routes of what a project may send. */
export function projectLimitRoutes({ db, clock, limitDefaults: defaults }: ProjectLimitRouteDeps): ApiRoute[] {
  const toRecord = ({ limits, updatedAt }: StoredLimits): ProjectLimitsRecord => ({
    ...limits,
    defaults,
    updated_at: updatedAt,
  });
  return [
    apiRoute({
      ...common,
      method: 'GET',
      scope: 'project:read',
      summary: 'Retrieve the limits of a project',
      description: 'Returns what the project may send, for each lane separately, and the defaults of the service.',
      responses: { 200: projectLimitsSchema },
      handler: async (request) => ({ status: 200, body: toRecord(await findLimits(db, request.project().id)) }),
    }),
    apiRoute({
      ...common,
      method: 'PATCH',
      scope: 'project:write',
      role: 'admin',
      summary: 'Change the limits of a project',
      description:
        'Every process applies them within seconds, without a restart. A key limited to projects cannot change them, so that a project ' +
        'cannot raise its own limits.',
      body: projectLimitsChangeSchema,
      responses: { 200: projectLimitsSchema },
      handler: async (request) => {
        if (allowedProjects(request.principal) !== null) {
          throw new ApiError('permission_denied', 'API keys limited to projects must not change limits.');
        }
        const { id, name } = request.project();
        const { events_per_second, bytes_per_second, backlog_bytes } = request.body;
        const now = clock.now();
        const saved = await db.transaction().execute(async (tx) => {
          const { limits: before } = await findLimits(tx, id);
          const after = {
            events_per_second: events_per_second === undefined ? before.events_per_second : events_per_second,
            bytes_per_second: bytes_per_second === undefined ? before.bytes_per_second : bytes_per_second,
            backlog_bytes: backlog_bytes === undefined ? before.backlog_bytes : backlog_bytes,
          };
          await saveLimits(tx, id, after, now);
          const change = { projectId: id, scope: 'ProjectLimits', itemId: id, name, activity: 'updated' } as const;
          await recordChange(tx, actorOf(request), { ...change, before, after, now });
          return await findLimits(tx, id);
        });
        return { status: 200, body: toRecord(saved) };
      },
    }),
  ];
}
