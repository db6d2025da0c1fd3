import { enqueueProjectErasure } from '../../queue/erasures/enqueue-project-erasure.ts';
import { Type } from 'typebox';
import type { Clock } from '../../base/clock.ts';
import { knownZone } from '../../base/local-time.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { pageOf, pageQuerySchema, pageSchema, toPage } from '../../wire/contract/pagination.ts';
import {
  projectCreateSchema,
  projectSchema,
  projectUpdateSchema,
  type ProjectRecord,
} from '../../wire/contract/projects.ts';
import { actorOf } from '../http/actor.ts';
import { apiRoute, type ApiReply, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import { allowedProjects } from '../http/auth-queries.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import {
  createProject,
  deleteProject,
  getProject,
  listProjects,
  rotateProjectToken,
  updateProject,
  type Project,
} from '../../stores/metadata/projects.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { recordProject } from '../../stores/metadata/record-project.ts';
import { spreadProject, SpreadRefusedError } from '../../stores/metadata/spread-project.ts';

export interface ProjectRouteDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  /** Called after a project was changed or deleted, so that no cache returns the old one. */
  readonly forgetProject: (projectId: number) => void;
}

const projects = '/api/projects';
const project = '/api/projects/:project_id';

export function projectRoutes(deps: ProjectRouteDeps): ApiRoute[] {
  return [...collectionRoutes(deps), ...recordRoutes(deps), ...tokenRoutes(deps)];
}

function collectionRoutes({ db, clock }: ProjectRouteDeps): ApiRoute[] {
  const common = { tag: 'Projects', path: projects } as const;
  return [
    apiRoute({
      ...common,
      method: 'GET',
      scope: 'project:read',
      summary: 'List the projects that the key can access',
      query: pageQuerySchema,
      responses: { 200: pageSchema(projectSchema) },
      handler: async ({ principal, query, url, rawQuery }) => {
        const window = pageOf(query);
        const ids = allowedProjects(principal);
        const found = await listProjects(db, { organizationId: principal.organizationId, ids, ...window });
        return { status: 200, body: toPage(url, rawQuery, window, found.count, found.projects.map(toRecord)) };
      },
    }),
    apiRoute({
      ...common,
      method: 'POST',
      scope: 'project:write',
      role: 'admin',
      summary: 'Create a project',
      description: 'Creates the project and its key. A key limited to projects cannot create one.',
      body: projectCreateSchema,
      responses: { 201: projectSchema },
      handler: async (request) => {
        const { principal, body, url } = request;
        if (allowedProjects(principal) !== null) {
          throw new ApiError('permission_denied', 'API keys limited to projects must not create projects.');
        }
        const timezone = timezoneOf(body.timezone) ?? 'UTC';
        const input = { organizationId: principal.organizationId, name: nameOf(body.name), timezone };
        const now = clock.now();
        const created = await db.transaction().execute(async (tx) => {
          const after = await createProject(tx, input, now);
          await recordProject(tx, actorOf(request), { activity: 'created', after, now });
          return after;
        });
        const location = `${url.replace(/\/$/, '')}/${created.id}/`;
        return { status: 201, body: toRecord(created), headers: { location } };
      },
    }),
  ];
}

function recordRoutes({ db, clock, forgetProject }: ProjectRouteDeps): ApiRoute[] {
  const common = { tag: 'Projects', path: project } as const;
  return [
    apiRoute({
      ...common,
      method: 'GET',
      scope: 'project:read',
      summary: 'Retrieve a project',
      responses: { 200: projectSchema },
      handler: async (request) => found(await getProject(db, request.project().id)),
    }),
    apiRoute({
      ...common,
      method: 'PATCH',
      scope: 'project:write',
      summary: 'Update name, timezone or spread of a project',
      body: projectUpdateSchema,
      responses: { 200: projectSchema },
      handler: async (request) => {
        const { id } = request.project();
        const timezone = timezoneOf(request.body.timezone);
        const changes = {
          ...(request.body.name !== undefined && { name: nameOf(request.body.name) }),
          ...(timezone !== undefined && { timezone }),
        };
        const now = clock.now();
        const updated = await db.transaction().execute(async (tx) => {
          const before = await getProject(tx, id);
          if (before === undefined) return undefined;
          const same =
            before.name === (changes.name ?? before.name) && before.timezone === (timezone ?? before.timezone);
          const isSpread = before.spread !== (request.body.spread ?? before.spread);
          if (same && !isSpread) return before;
          const spread = isSpread ? await spreadAs(tx, id, request.body.spread, now) : before;
          const after = same ? spread : await updateProject(tx, id, changes, now);
          if (after !== undefined)
            await recordProject(tx, actorOf(request), { activity: 'updated', before, after, now });
          return after;
        });
        forgetProject(id);
        return found(updated);
      },
    }),
    apiRoute({
      ...common,
      method: 'DELETE',
      scope: 'project:write',
      role: 'admin',
      summary: 'Delete a project with its configs, persons and keys',
      description: 'Deletes the project permanently. Its stored events are erased in the background.',
      responses: { 204: null },
      handler: async (request) => {
        const { id } = request.project();
        const before = await getProject(db, id);
        const deleted =
          before !== undefined && (await deleteProject(db, id, (tx) => enqueueProjectErasure(tx, id, clock.now())));
        forgetProject(id);
        if (!deleted) throw notFound();
        // Recorded last: the deletion is done in pieces and includes the project's log.
        await recordProject(db, actorOf(request), { activity: 'deleted', before, now: clock.now() });
        return { status: 204 };
      },
    }),
  ];
}

function tokenRoutes({ db, clock, forgetProject }: ProjectRouteDeps): ApiRoute[] {
  const rotate = async (request: ApiRequest): Promise<ApiReply> => {
    const { id } = request.project();
    const now = clock.now();
    const rotated = await db.transaction().execute(async (tx) => {
      const before = await getProject(tx, id);
      const after = await rotateProjectToken(tx, id, now);
      if (before === undefined || after === undefined) return undefined;
      await recordProject(tx, actorOf(request), { activity: 'token_reset', before, after, now });
      return after;
    });
    forgetProject(id);
    return found(rotated);
  };
  return (['PATCH', 'POST'] as const).map((method) =>
    apiRoute({
      method,
      path: `${project}/reset_token`,
      scope: 'project:write',
      role: 'admin',
      tag: 'Projects',
      summary: 'Rotate the key of a project',
      description: 'Revokes the old key immediately: events sent with it are refused.',
      body: Type.Object({}),
      responses: { 200: projectSchema },
      handler: rotate,
    }),
  );
}

/** The project may be deleted between the access check and the query. */
function found(row: Project | undefined): ApiReply {
  if (row === undefined) throw notFound();
  return { status: 200, body: toRecord(row) };
}

function notFound(): ApiError {
  return new ApiError('not_found', 'Project not found.');
}

function toRecord(row: Project): ProjectRecord {
  return {
    id: row.id,
    uuid: row.uuid,
    name: row.name,
    organization: row.organizationId,
    api_token: row.apiToken,
    timezone: row.timezone,
    spread: row.spread,
    created_at: row.createdAt,
  };
}

async function spreadAs(tx: Queries, id: number, spread = 1, now: number): Promise<Project | undefined> {
  try {
    return await spreadProject(tx, id, spread, now);
  } catch (error) {
    if (!(error instanceof SpreadRefusedError)) throw error;
    throw new ApiError('conflict', error.message, { attr: 'spread' });
  }
}

function nameOf(name: string): string {
  const trimmed = name.trim();
  if (trimmed === '') throw new ApiError('blank', 'This field may not be blank.', { attr: 'name' });
  return trimmed;
}

/** Returns the zone's spelling in the tz database; offsets such as +01:00 are not zones. */
function timezoneOf(given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  const known = knownZone(given);
  if (known === undefined) {
    const detail = `"${given}" is not a valid choice. Expected an IANA time zone such as "Europe/Paris" or "UTC".`;
    throw new ApiError('invalid_input', detail, { attr: 'timezone' });
  }
  // Old names resolve to their successors, so only the spelling is corrected.
  return known.toLowerCase() === given.toLowerCase() ? known : given;
}
