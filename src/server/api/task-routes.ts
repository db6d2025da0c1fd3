import { Type, type Static, type TObject, type TSchema } from 'typebox';
import type { Clock } from '../../base/clock.ts';
import type { ActivityScope } from '../../wire/contract/activity.ts';
import { ApiError, orNotFound } from '../../wire/contract/errors.ts';
import { pageOf, pageQuerySchema, pageSchema, toPage } from '../../wire/contract/pagination.ts';
import type { ScopeObject } from '../../wire/contract/scopes.ts';
import { taskSchema, type TaskRecord, type TaskSchemas } from '../../wire/contract/tasks.ts';
import { cancelTask, countOpenTasks, enqueueTask, findTask, listTasks } from '../../queue/tasks/task-store.ts';
import type { Task } from '../../queue/tasks/task.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { recordChange } from '../../stores/metadata/record-change.ts';
import { actorOf } from '../http/actor.ts';
import { apiRoute, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import { idempotentAfter } from './idempotency.ts';

export interface TaskRouteDeps {
  readonly db: Metadata;
  readonly clock: Clock;
}

/** What is stored of a request. */
export interface PreparedTask<Spec> {
  /** Without secrets; shown as `request`. */
  readonly spec: Spec;
  readonly secrets?: Readonly<Record<string, string>>;
}

/** How tasks of one kind appear in the API. */
export interface TaskApi<Body extends TObject, Spec extends TSchema, Progress extends TSchema, Result extends TSchema> {
  /** Name of the TaskKind. */
  readonly kind: string;
  /** Below `/api/projects/:project_id/`, such as `exports`. */
  readonly path: string;
  readonly tag: string;
  readonly scope: ScopeObject;
  readonly activityScope: ActivityScope;
  /** Of a task, for texts: `export`, `exports`. */
  readonly noun: string;
  readonly plural: string;
  readonly startDescription: string;
  readonly body: Body;
  readonly schemas: TaskSchemas<Spec, Progress, Result>;
  /** Tasks of a project that have not ended. */
  readonly openMax: number;
  /** Returns why the task can no longer be cancelled, if so. Default: it can until it has ended. */
  readonly refuseCancel?: (task: Task) => string | undefined;
  /** Validates the request. @throws ApiError */
  readonly prepare: (
    request: ApiRequest<unknown, unknown, Static<Body>>,
  ) => Promise<PreparedTask<Static<Spec>>> | PreparedTask<Static<Spec>>;
}

/** Routes that start, list, retrieve and cancel the tasks of one kind. */
export function taskRoutes<
  Body extends TObject,
  Spec extends TSchema,
  Progress extends TSchema,
  Result extends TSchema,
>(deps: TaskRouteDeps, api: TaskApi<Body, Spec, Progress, Result>): ApiRoute[] {
  const record = taskSchema(api.schemas);
  const kind = { ...deps, ...api, record, path: `/api/projects/:project_id/${api.path}` };
  return [startRoute(kind), listRoute(kind), retrieveRoute(kind), cancelRoute(kind)];
}

/** What the routes need to know, whatever the schemas of the kind are. */
interface KindRoutes extends TaskRouteDeps, Pick<TaskApi<TObject, TSchema, TSchema, TSchema>, CommonFields> {
  /** With the prefix. */
  readonly path: string;
  readonly record: TSchema;
}
type CommonFields = 'kind' | 'tag' | 'scope' | 'activityScope' | 'noun' | 'plural' | 'refuseCancel';
type StartFields = 'startDescription' | 'openMax' | 'body' | 'prepare';

const readOf = ({ scope, tag }: KindRoutes) => ({ method: 'GET', scope: `${scope}:read`, tag }) as const;
const writeOf = ({ scope, tag }: KindRoutes) => ({ method: 'POST', scope: `${scope}:write`, tag }) as const;
const tasksOf = (request: ApiRequest, { kind }: KindRoutes) => ({ projectId: request.project().id, kind });
const paramsOf = ({ noun }: KindRoutes) => Type.Object({ id: Type.String({ description: `Id of the ${noun}.` }) });
const withArticle = (noun: string): string => `${/^[aeio]/.test(noun) ? 'an' : 'a'} ${noun}`;

function startRoute<Body extends TObject>(
  api: KindRoutes & Pick<TaskApi<Body, TSchema, TSchema, TSchema>, StartFields>,
): ApiRoute {
  const { db, clock, openMax } = api;
  return apiRoute({
    ...writeOf(api),
    path: api.path,
    summary: `Start ${withArticle(api.noun)}`,
    description: `${api.startDescription} Honours Idempotency-Key.`,
    body: api.body,
    keepsDigits: true,
    responses: { 201: api.record },
    handler: idempotentAfter(
      db,
      clock,
      async (request: ApiRequest<unknown, unknown, Static<Body>>) => api.prepare(request),
      async (request, tx, { spec, secrets }) => {
        const of = tasksOf(request, api);
        const now = clock.now();
        if ((await countOpenTasks(tx, of)) >= openMax) {
          const expected = `Expected at most ${openMax} ${api.plural} of a project at the same time, got one more.`;
          throw new ApiError('conflict', `${expected} Wait until one has ended, or cancel one.`);
        }
        const createdBy = request.principal.kind === 'operator' ? null : request.principal.userId;
        const id = await enqueueTask(tx, { ...of, spec, ...(secrets && { secrets }), createdBy, now });
        const task = toTaskRecord(orNotFound(await findTask(tx, of, id)));
        await recordTask(tx, request, api, { activity: 'started', after: task });
        return { status: 201, body: task, headers: { location: `${request.url.replace(/\/+$/, '')}/${id}/` } };
      },
    ),
  });
}

function listRoute(api: KindRoutes): ApiRoute {
  return apiRoute({
    ...readOf(api),
    path: api.path,
    summary: `List ${api.plural}, newest first`,
    query: pageQuerySchema,
    responses: { 200: pageSchema(api.record) },
    handler: async (request) => {
      const page = pageOf(request.query);
      const { count, tasks } = await listTasks(api.db, tasksOf(request, api), page);
      return { status: 200, body: toPage(request.url, request.rawQuery, page, count, tasks.map(toTaskRecord)) };
    },
  });
}

function retrieveRoute(api: KindRoutes): ApiRoute {
  return apiRoute({
    ...readOf(api),
    path: `${api.path}/:id`,
    summary: `Retrieve the state of ${withArticle(api.noun)}`,
    params: paramsOf(api),
    responses: { 200: api.record },
    handler: async (request) => {
      const task = await findTask(api.db, tasksOf(request, api), request.params.id);
      return { status: 200, body: toTaskRecord(orNotFound(task)) };
    },
  });
}

function cancelRoute(api: KindRoutes): ApiRoute {
  return apiRoute({
    ...writeOf(api),
    path: `${api.path}/:id/cancel`,
    summary: `Cancel ${withArticle(api.noun)}`,
    params: paramsOf(api),
    responses: { 200: api.record },
    handler: async (request) => {
      const of = tasksOf(request, api);
      const { id } = request.params;
      const after = await api.db.transaction().execute(async (tx) => {
        const task = orNotFound(await findTask(tx, of, id));
        const before = toTaskRecord(task);
        const refused = api.refuseCancel?.(task);
        if (refused !== undefined) throw new ApiError('conflict', refused);
        if (!(await cancelTask(tx, of, id, api.clock.now()))) return before;
        const cancelled = toTaskRecord(orNotFound(await findTask(tx, of, id)));
        await recordTask(tx, request, api, { activity: 'cancelled', before, after: cancelled });
        return cancelled;
      });
      if (after.state === 'cancelled') return { status: 200, body: after };
      const expected = `Expected ${withArticle(api.noun)} that is queued or running`;
      throw new ApiError('conflict', `${expected}, got: one that is ${after.state}.`);
    },
  });
}

interface SteeredTask {
  readonly activity: 'started' | 'cancelled';
  readonly before?: TaskRecord;
  readonly after: TaskRecord;
}

async function recordTask(
  tx: Queries,
  request: ApiRequest,
  { clock, noun, activityScope }: KindRoutes,
  { activity, before, after }: SteeredTask,
): Promise<void> {
  await recordChange(tx, actorOf(request), {
    activity,
    before: before && { ...before },
    after: { ...after },
    projectId: request.project().id,
    scope: activityScope,
    itemId: after.id,
    name: noun,
    now: clock.now(),
  });
}

export function toTaskRecord(task: Task): TaskRecord {
  const { id, state, spec, progress = null, result = null, error, createdAt, startedAt, endedAt } = task;
  return {
    id,
    state,
    request: spec,
    progress,
    result,
    error,
    created_at: createdAt,
    started_at: startedAt,
    ended_at: endedAt,
  };
}
