import type { Transaction } from 'kysely';
import { isoMicros, type Clock } from '../../base/clock.ts';
import { parseExact } from '../../base/exact-json.ts';
import { hourMs } from '../../base/time.ts';
import { ApiError, fieldErrors, orNotFound } from '../../wire/contract/errors.ts';
import { pageOf, pageQuerySchema, toPage } from '../../wire/contract/pagination.ts';
import {
  planTestResultSchema,
  planTestSchema,
  trackingPlanRecordSchema,
  trackingPlanSchema,
  trackingPlanVersionParamsSchema,
  trackingPlanVersionsSchema,
  violationsQuerySchema,
  violationsSchema,
  type TrackingPlanRecord,
} from '../../wire/contract/tracking-plan.ts';
import { compilePlan, strictest } from '../../wire/tracking-plan/compile-plan.ts';
import type { TrackingPlan } from '../../wire/tracking-plan/plan.ts';
import { PlanError, emptyPlan, readPlan } from '../../wire/tracking-plan/read-plan.ts';
import { actorOf } from '../http/actor.ts';
import { apiRoute, type ApiReply, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import { lockConfig } from '../../stores/metadata/config-revision.ts';
import type { Database, Metadata } from '../../stores/metadata/database.ts';
import { recordChange } from '../../stores/metadata/record-change.ts';
import {
  findPlan,
  findPlanVersion,
  listPlanVersions,
  savePlan,
  type PlanVersion,
} from '../../stores/metadata/tracking-plans.ts';
import { summarizeViolations, type ViolationSummary } from '../../pipeline/read-violations.ts';
import { idempotent } from './idempotency.ts';
import { timeFilter } from './time-filter.ts';

export interface TrackingPlanDeps {
  readonly db: Metadata;
  readonly clock: Clock;
}

export const trackingPlanPath = '/api/projects/:project_id/tracking_plan';
export const planTag = 'Tracking plan';
const path = trackingPlanPath;
const tag = planTag;
const read = { scope: 'tracking_plan:read', tag } as const;
const write = { scope: 'tracking_plan:write', tag } as const;
const ifMatch = 'Honours If-Match with the `ETag` that was read: it is refused (412) if the plan has changed since.';

/** Routes of a project's tracking plan: the plan, its versions, its violations, and a test of events. */
export function trackingPlanRoutes(deps: TrackingPlanDeps): ApiRoute[] {
  return [...planRoutes(deps), ...versionRoutes(deps), testRoute(deps), violationsRoute(deps)];
}

function planRoutes({ db, clock }: TrackingPlanDeps): ApiRoute[] {
  return [
    apiRoute({
      ...read,
      method: 'GET',
      path,
      summary: 'Retrieve the tracking plan of a project',
      responses: { 200: trackingPlanRecordSchema },
      responseHeaders: { ETag: 'The version, for If-Match.' },
      handler: async (request) => reply(await findPlan(db, request.project().id)),
    }),
    apiRoute({
      ...write,
      method: 'PUT',
      path,
      summary: 'Save the tracking plan of a project',
      description: `Replaces the whole plan, which applies within seconds. The same plan changes nothing. ${ifMatch}`,
      body: trackingPlanSchema,
      keepsDigits: true,
      responses: { 200: trackingPlanRecordSchema },
      responseHeaders: { ETag: 'The new version.' },
      handler: idempotent(db, clock, (request, tx) => change(tx, request, validPlan(request.body), clock.now())),
    }),
    apiRoute({
      ...write,
      method: 'DELETE',
      path,
      summary: 'Remove the tracking plan of a project',
      description: `No event is validated from then on. Earlier versions stay, and can be saved again. ${ifMatch}`,
      responses: { 200: trackingPlanRecordSchema },
      handler: idempotent(db, clock, (request, tx) => change(tx, request, undefined, clock.now())),
    }),
  ];
}

function versionRoutes({ db }: TrackingPlanDeps): ApiRoute[] {
  return [
    apiRoute({
      ...read,
      method: 'GET',
      path: `${path}/versions`,
      summary: 'List the versions of the tracking plan, newest first',
      description: 'Returns the last 100 versions without their content.',
      query: pageQuerySchema,
      responses: { 200: trackingPlanVersionsSchema },
      handler: async (request) => {
        const page = pageOf(request.query);
        const { count, versions } = await listPlanVersions(db, request.project().id, page);
        const results = versions.map((version) => Object.assign(fieldsOf(version), { events: eventsIn(version) }));
        return { status: 200, body: toPage(request.url, request.rawQuery, page, count, results) };
      },
    }),
    apiRoute({
      ...read,
      method: 'GET',
      path: `${path}/versions/:version`,
      summary: 'Retrieve a version of the tracking plan',
      description: 'Save its `plan` to restore it.',
      params: trackingPlanVersionParamsSchema,
      responses: { 200: trackingPlanRecordSchema },
      handler: async (request) => {
        const found = await findPlanVersion(db, request.project().id, request.params.version);
        return { status: 200, body: toRecord(orNotFound(found)) };
      },
    }),
  ];
}

function testRoute({ db }: TrackingPlanDeps): ApiRoute {
  return apiRoute({
    ...write,
    method: 'POST',
    path: `${path}/test`,
    summary: 'Validate events against the tracking plan',
    description:
      "Returns the violations of each event by `plan`, by default the project's. Transformations are not applied; nothing is stored or counted.",
    body: planTestSchema,
    keepsDigits: true,
    responses: { 200: planTestResultSchema },
    handler: async (request) => {
      const { events, plan: given } = request.body;
      const plan = compilePlan(
        given === undefined
          ? (readStored(await findPlan(db, request.project().id)) ?? emptyPlan)
          : validPlan(given, 'plan__'),
      );
      const results = events.map(({ event, properties = {} }) => {
        const found = plan.check(event, properties);
        const violations = found.map(({ property, rule, policy, detail }) => ({ property, rule, policy, detail }));
        return { event, outcome: strictest(found) ?? 'stored', violations };
      });
      const violating = results.filter(({ violations }) => violations.length > 0).length;
      return { status: 200, body: { violating, results } };
    },
  });
}

const defaultMs = 7 * 24 * hourMs;
const rulesDefault = 100;

function violationsRoute({ db, clock }: TrackingPlanDeps): ApiRoute {
  return apiRoute({
    ...read,
    method: 'GET',
    path: `${path}/violations`,
    summary: 'List violations of the tracking plan by rule, most frequent first',
    query: violationsQuerySchema,
    responses: { 200: violationsSchema },
    handler: async (request) => {
      const { event, by = 'hour', limit = rulesDefault } = request.query;
      const after = timeFilter(request.query.after, 'after') ?? isoMicros(clock.now() - defaultMs);
      const before = timeFilter(request.query.before, 'before');
      const from = `${after.slice(0, 13)}:00:00.000000Z`;
      const found = await summarizeViolations(db, { projectId: request.project().id, after: from, before, event, by });
      const results = found.slice(0, limit).map(toRule);
      const count = found.reduce((sum, rule) => sum + rule.count, 0);
      return { status: 200, body: { count, rules: found.length, results } };
    },
  });
}

function toRule({ event, property, rule, count, lastSeen, samples, periods }: ViolationSummary) {
  return {
    event,
    property,
    rule,
    count,
    last_seen: lastSeen,
    samples,
    periods: [...periods].map(([start, of]) => ({ start, count: of })),
  };
}

/** Saves the plan; `undefined` removes it. */
async function change(
  tx: Transaction<Database>,
  request: ApiRequest,
  plan: TrackingPlan | undefined,
  now: number,
): Promise<ApiReply> {
  const { id: projectId, name } = request.project();
  await lockConfig(tx);
  const before = await findPlan(tx, projectId);
  refuseUnseen(before, request.headers['if-match']);
  const text = plan === undefined ? null : JSON.stringify(plan);
  if ((before?.plan ?? null) === text) return reply(before);
  const actor = actorOf(request);
  await savePlan(tx, { projectId, before: before?.version ?? 0, plan: text, userId: actor.userId, now });
  await recordChange(tx, actor, {
    projectId,
    scope: 'TrackingPlan',
    itemId: projectId,
    name: `Tracking plan of ${name}`,
    activity: text === null ? 'deleted' : (before?.plan ?? null) === null ? 'created' : 'updated',
    before: fieldsOfPlan(before?.plan ?? null),
    after: fieldsOfPlan(text),
    now,
  });
  return reply(await findPlan(tx, projectId));
}

/** Returns the plan as a flat record with one field per event, so that the activity log shows which events changed. */
function fieldsOfPlan(text: string | null): Record<string, unknown> | undefined {
  if (text === null) return undefined;
  const { events, ...rules } = parseExact(text) as unknown as TrackingPlan;
  return { ...rules, ...Object.fromEntries(events.map(({ name, ...event }) => [`events.${name}`, event])) };
}

/** @throws ApiError precondition_failed */
function refuseUnseen(before: PlanVersion | undefined, given: string | string[] | undefined): void {
  if (given === undefined || given === '*' || given === etagOf(before)) return;
  const version = before?.version ?? 0;
  throw new ApiError(
    'precondition_failed',
    `Expected If-Match with the version that applies, ${etagOf(before)}, got: ${String(given)}. The plan was changed in the meantime: ` +
      `read version ${version} and make the change again.`,
  );
}

function etagOf(version: PlanVersion | undefined): string {
  return `"${version?.version ?? 0}"`;
}

/** @throws ApiError with the place of every fault */
function validPlan(body: unknown, prefix = ''): TrackingPlan {
  try {
    return readPlan(body);
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
    const [first, ...others] = error.faults.map(({ path: place, detail }) => ({
      code: 'invalid_input' as const,
      detail: `${place === '' ? 'Plan' : place}: ${detail}.`,
      attr: `${prefix}${place.replaceAll('.', '__')}` || null,
    }));
    if (first === undefined) throw error;
    throw fieldErrors([first, ...others]);
  }
}

/** Returns the plan of a version; `undefined` if it has none. */
export function readStored(version: PlanVersion | undefined): TrackingPlan | undefined {
  const text = version?.plan ?? null;
  return text === null ? undefined : readPlan(parseExact(text));
}

function reply(version: PlanVersion | undefined): ApiReply {
  return { status: 200, body: toRecord(version), headers: { etag: etagOf(version) } };
}

function toRecord(version: PlanVersion | undefined): TrackingPlanRecord {
  const text = version?.plan ?? null;
  return { ...fieldsOf(version), plan: text === null ? null : (parseExact(text) as TrackingPlanRecord['plan']) };
}

function fieldsOf(version: PlanVersion | undefined) {
  return {
    version: version?.version ?? 0,
    updated_at: version?.createdAt ?? null,
    updated_by: version?.user ?? null,
  };
}

function eventsIn({ plan }: PlanVersion): number | null {
  return plan === null ? null : (JSON.parse(plan) as TrackingPlan).events.length;
}
