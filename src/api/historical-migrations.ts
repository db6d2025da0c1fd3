import type { Selectable } from 'kysely';
import { Type } from 'typebox';
import { isoMicros, type Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import { ApiError, orNotFound } from '../contract/errors.ts';
import {
  historicalMigrationCreateSchema,
  historicalMigrationDecisionSchema,
  historicalMigrationSchema,
  historicalMigrationUpdateSchema,
  type HistoricalMigrationRecord,
} from '../contract/historical-migrations.ts';
import { pageOf, pageQuerySchema, pageSchema, toPage } from '../contract/pagination.ts';
import { apiRoute, type ApiRoute, type Principal } from '../http/api-route.ts';
import type { AgreementState, Database, Metadata } from '../metadata/database.ts';

export interface HistoricalMigrationRouteDeps {
  readonly db: Metadata;
  readonly clock: Clock;
}

const path = '/api/projects/:project_id/historical_migrations';
const onePath = `${path}/:id`;
const tag = 'historical migrations';
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
      query: pageQuerySchema,
      responses: { 200: pageSchema(historicalMigrationSchema) },
      handler: async ({ project, query, url, rawQuery }) => {
        const window = pageOf(query);
        const { count, rows } = await listAgreements(db, project().id, window);
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
        'Where agreements are required, history above 10,000 events per minute or 20 million in all waits for an approved one.',
      body: historicalMigrationCreateSchema,
      responses: { 201: historicalMigrationSchema },
      handler: async ({ project, body, url }) => {
        const row: AgreementRow = {
          ...body,
          note: body.note ?? '',
          id: newId(),
          project_id: project().id,
          state: 'filed',
          created_at: isoMicros(clock.now()),
          decided_at: null,
        };
        const known = rowOf(row);
        await db.insertInto('historical_migrations').values(known).execute();
        const location = `${url.replace(/\/$/, '')}/${row.id}/`;
        return { status: 201, body: toRecord(known), headers: { location } };
      },
    }),
  ];
}

function recordRoutes({ db }: HistoricalMigrationRouteDeps): ApiRoute[] {
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
      handler: async ({ project, params: { id }, body }) => {
        const { source, method, total_events, events_per_second, note } = body;
        const given = { source, method, total_events, events_per_second, note };
        const change = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
        return { status: 200, body: toRecord(await changeAgreement(db, project().id, id, ['filed'], change)) };
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
      handler: async ({ principal, project, params: { id }, body }) => {
        if (byOperator) requireOperator(principal);
        const change = {
          state: to,
          decided_at: isoMicros(clock.now()),
          ...(body.note === undefined ? {} : { note: body.note }),
        };
        return { status: 200, body: toRecord(await changeAgreement(db, project().id, id, [from], change)) };
      },
    }),
  );
}

/** Of an admin, which the route asks for: a session, or a key for everything everywhere. A project's own key cannot approve its own request. */
function requireOperator(principal: Principal): void {
  if (principal.kind === 'session') return;
  if (principal.scopes.includes('*') && principal.projectIds === null) return;
  throw new ApiError(
    'permission_denied',
    'Agreements are decided by an operator: use the console, or an API key with scope "*" for all projects.',
  );
}

type AgreementRow = Selectable<Database['historical_migrations']>;

async function listAgreements(
  db: Metadata,
  projectId: number,
  window: { readonly limit: number; readonly offset: number },
): Promise<{ count: number; rows: AgreementRow[] }> {
  const ofProject = db.selectFrom('historical_migrations').where('project_id', '=', projectId);
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

async function findAgreement(db: Metadata, projectId: number, id: string): Promise<AgreementRow> {
  const row = await db
    .selectFrom('historical_migrations')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
  return orNotFound(row);
}

/** Changes the agreement in one statement, so that two decisions at once cannot both win. */
async function changeAgreement(
  db: Metadata,
  projectId: number,
  id: string,
  from: readonly AgreementState[],
  change: Partial<Omit<AgreementRow, 'id' | 'project_id'>>,
): Promise<AgreementRow> {
  const before = await findAgreement(db, projectId, id);
  if (Object.keys(change).length > 0 || !from.includes(before.state)) {
    const done = await db
      .updateTable('historical_migrations')
      .set({ ...change, id })
      .where('project_id', '=', projectId)
      .where('id', '=', id)
      .where('state', 'in', [...from])
      .executeTakeFirst();
    if (done.numUpdatedRows === 0n) {
      const { state } = await findAgreement(db, projectId, id);
      throw new ApiError('conflict', `expected the agreement to be ${from.join(' or ')}, got: ${state}`);
    }
  }
  return findAgreement(db, projectId, id);
}

/** The columns and nothing else: a request body may hold more. */
function rowOf(row: AgreementRow): AgreementRow {
  const { id, project_id, source, method, total_events, events_per_second, state, note, created_at, decided_at } = row;
  return { id, project_id, source, method, total_events, events_per_second, state, note, created_at, decided_at };
}

function toRecord(row: AgreementRow): HistoricalMigrationRecord {
  const { total_events, events_per_second } = row;
  return { ...rowOf(row), total_events: Number(total_events), events_per_second: Number(events_per_second) };
}
