import type { Selectable } from 'kysely';
import { Type, type Static } from 'typebox';
import { isoMicros, type Clock } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import { ApiError, orNotFound } from '../../wire/contract/errors.ts';
import {
  historicalMigrationCreateSchema,
  historicalMigrationDecisionSchema,
  historicalMigrationQuerySchema,
  historicalMigrationSchema,
  historicalMigrationUpdateSchema,
  type HistoricalMigrationRecord,
} from '../../wire/contract/historical-migrations.ts';
import { pageOf, pageSchema, toPage } from '../../wire/contract/pagination.ts';
import { actorOf } from '../http/actor.ts';
import { apiRoute, type ApiReply, type ApiRequest, type ApiRoute, type Principal } from '../http/api-route.ts';
import type { Database, Metadata } from '../../stores/metadata/database.ts';
import type { AgreementState } from '../../stores/metadata/tables/accounts.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { recordChange, type RecordedChange } from '../../stores/metadata/record-change.ts';

export interface HistoricalMigrationRouteDeps {
  readonly db: Metadata;
  readonly clock: Clock;
}

const path = '/api/projects/:project_id/historical_migrations';
const onePath = `${path}/:id`;
const tag = 'Historical migrations';
const params = Type.Object({ id: Type.String() });

export function historicalMigrationRoutes(deps: HistoricalMigrationRouteDeps): ApiRoute[] {
  return [...collectionRoutes(deps), ...recordRoutes(deps), ...decisionRoutes(deps)];
}

function collectionRoutes({ db, clock }: HistoricalMigrationRouteDeps): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path,
      tag,
      scope: 'historical_migration:read',
      summary: 'List the agreements for historical imports, newest first',
      query: historicalMigrationQuerySchema,
      responses: { 200: pageSchema(historicalMigrationSchema) },
      handler: async ({ project, query, url, rawQuery }) => {
        const window = pageOf(query);
        const { count, rows } = await listAgreements(db, { projectId: project().id, state: query.state }, window);
        return { status: 200, body: toPage(url, rawQuery, window, count, rows.map(toRecord)) };
      },
    }),
    apiRoute({
      method: 'POST',
      path,
      tag,
      scope: 'historical_migration:write',
      summary: 'File an agreement for a historical import',
      description:
        'Where agreements are required, historical events above 10,000 per minute or 20 million in total need an approved one.',
      body: historicalMigrationCreateSchema,
      responses: { 201: historicalMigrationSchema },
      handler: async (request) => {
        const { project, body, url } = request;
        const now = clock.now();
        const row: AgreementRow = {
          ...body,
          note: body.note ?? '',
          id: newId(),
          project_id: project().id,
          state: 'filed',
          created_at: isoMicros(now),
          decided_at: null,
        };
        const known = rowOf(row);
        await db.transaction().execute(async (tx) => {
          await tx.insertInto('historical_migrations').values(known).execute();
          await record(tx, request, { activity: 'filed', after: known, now });
        });
        const location = `${url.replace(/\/$/, '')}/${row.id}/`;
        return { status: 201, body: toRecord(known), headers: { location } };
      },
    }),
  ];
}

function recordRoutes({ db, clock }: HistoricalMigrationRouteDeps): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: onePath,
      tag,
      scope: 'historical_migration:read',
      summary: 'Retrieve an agreement',
      params,
      responses: { 200: historicalMigrationSchema },
      handler: async ({ project, params: { id } }) => ({
        status: 200,
        body: toRecord(await findAgreement(db, project().id, id)),
      }),
    }),
    apiRoute({
      method: 'PATCH',
      path: onePath,
      tag,
      scope: 'historical_migration:write',
      summary: 'Change an agreement while it is filed',
      params,
      body: historicalMigrationUpdateSchema,
      responses: { 200: historicalMigrationSchema },
      handler: async (request) => {
        const { source, method, total_events, events_per_second, note } = request.body;
        const given = { source, method, total_events, events_per_second, note };
        const change = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
        const now = clock.now();
        return changeAgreement(db, request, { activity: 'updated', from: 'filed', change, now });
      },
    }),
  ];
}

interface Decision {
  readonly verb: 'approve' | 'reject' | 'end';
  readonly from: AgreementState;
  readonly to: AgreementState;
  readonly byOperator: boolean;
  readonly summary: string;
}

const decisions: readonly Decision[] = [
  { verb: 'approve', from: 'filed', to: 'approved', byOperator: true, summary: 'Approve a filed agreement (operator)' },
  { verb: 'reject', from: 'filed', to: 'rejected', byOperator: true, summary: 'Reject a filed agreement (operator)' },
  { verb: 'end', from: 'approved', to: 'ended', byOperator: false, summary: 'End an approved agreement' },
];

function decisionRoutes({ db, clock }: HistoricalMigrationRouteDeps): ApiRoute[] {
  return decisions.map(({ verb, from, to, byOperator, summary }) =>
    apiRoute({
      method: 'POST',
      path: `${onePath}/${verb}`,
      tag,
      scope: 'historical_migration:write',
      ...(byOperator && { role: 'admin' as const }),
      summary,
      params,
      body: historicalMigrationDecisionSchema,
      responses: { 200: historicalMigrationSchema },
      handler: async (request) => {
        if (byOperator) requireOperator(request.principal);
        const { note } = request.body;
        const now = clock.now();
        const change = { state: to, decided_at: isoMicros(now), ...(note === undefined ? {} : { note }) };
        return changeAgreement(db, request, { activity: to, from, change, now });
      },
    }),
  );
}

/** Requires a session of an admin or a key with all scopes for all projects. A project's own key cannot approve its request. */
function requireOperator(principal: Principal): void {
  if (principal.kind !== 'key') return;
  if (principal.scopes.includes('*') && principal.projectIds === null) return;
  throw new ApiError(
    'permission_denied',
    'Agreements are decided by an operator: use the console, or an API key with scope "*" for all projects.',
  );
}

type AgreementRow = Selectable<Database['historical_migrations']>;

async function listAgreements(
  db: Metadata,
  { projectId, state }: { readonly projectId: number; readonly state: AgreementState | undefined },
  window: { readonly limit: number; readonly offset: number },
): Promise<{ count: number; rows: AgreementRow[] }> {
  const ofProject = db
    .selectFrom('historical_migrations')
    .where('project_id', '=', projectId)
    .$if(state !== undefined, (query) => query.where('state', '=', state ?? 'filed'));
  const { count } = await ofProject.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  const rows = await ofProject
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(window.limit)
    .offset(window.offset)
    .execute();
  return { count: Number(count), rows };
}

async function findAgreement(db: Queries, projectId: number, id: string): Promise<AgreementRow> {
  const row = await db
    .selectFrom('historical_migrations')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
  return orNotFound(row);
}

interface AgreementChange {
  readonly activity: string;
  /** The state that the agreement must be in. */
  readonly from: AgreementState;
  readonly change: Partial<Omit<AgreementRow, 'id' | 'project_id'>>;
  readonly now: number;
}

/** Changes the agreement in one statement, so that two concurrent decisions cannot both succeed. */
async function changeAgreement(
  db: Metadata,
  request: ApiRequest<Static<typeof params>>,
  { activity, from, change, now }: AgreementChange,
): Promise<ApiReply> {
  const { id: projectId } = request.project();
  const { id } = request.params;
  const after = await db.transaction().execute(async (tx) => {
    const before = await findAgreement(tx, projectId, id);
    const changed = await tx
      .updateTable('historical_migrations')
      .set({ ...change, id })
      .where('project_id', '=', projectId)
      .where('id', '=', id)
      .where('state', '=', from)
      .returningAll()
      .executeTakeFirst();
    if (changed === undefined) {
      const { state } = await findAgreement(tx, projectId, id);
      throw new ApiError('conflict', `expected the agreement to be ${from}, got: ${state}`);
    }
    if (Object.keys(change).length > 0) await record(tx, request, { activity, before, after: changed, now });
    return changed;
  });
  return { status: 200, body: toRecord(after) };
}

async function record(
  tx: Queries,
  request: ApiRequest,
  change: Pick<RecordedChange, 'activity' | 'now'> & { readonly before?: AgreementRow; readonly after: AgreementRow },
): Promise<void> {
  const { before, after } = change;
  await recordChange(tx, actorOf(request), {
    ...change,
    projectId: after.project_id,
    scope: 'HistoricalMigration',
    itemId: after.id,
    name: after.source,
    before: before && { ...toRecord(before) },
    after: { ...toRecord(after) },
  });
}

/** Returns only the columns, since a request body may contain more. */
function rowOf(row: AgreementRow): AgreementRow {
  const { id, project_id, source, method, total_events, events_per_second, state, note, created_at, decided_at } = row;
  return { id, project_id, source, method, total_events, events_per_second, state, note, created_at, decided_at };
}

function toRecord(row: AgreementRow): HistoricalMigrationRecord {
  const { total_events, events_per_second } = row;
  return { ...rowOf(row), total_events: Number(total_events), events_per_second: Number(events_per_second) };
}
