import type { Clock } from '../../base/clock.ts';
import { isoMicros } from '../../base/clock.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import {
  retentionChangeSchema,
  retentionPolicySchema,
  retentionPreviewSchema,
  retentionSchema,
  type RetentionPolicy,
  type RetentionPreview,
  type RetentionRecord,
  type ServiceRetention,
} from '../../wire/contract/retention.ts';
import { nextPassAt } from '../../pipeline/remove-expired.ts';
import type { EventStore } from '../../stores/events/eventstore.ts';
import { countExpired, TooManyNamesError, type ExpiredCell } from '../../stores/events/expired-counts.ts';
import { expiryOf, keepAll, keepsAll } from '../../stores/events/retention-policy.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { recordChange } from '../../stores/metadata/record-change.ts';
import { findPolicy, savePolicy, type StoredPolicy } from '../../stores/metadata/retention-policies.ts';
import { actorOf } from '../http/actor.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { fromStore } from './events.ts';

export interface RetentionRouteDeps {
  readonly db: Metadata;
  readonly store: Pick<EventStore, 'query'>;
  readonly clock: Clock;
  readonly serviceRetention: ServiceRetention;
}

const common = { path: '/api/projects/:project_id/retention', tag: 'Retention' } as const;
const cellsMax = 5000;

/** Routes of how long the events of a project are kept. */
export function retentionRoutes(deps: RetentionRouteDeps): ApiRoute[] {
  const { db, clock } = deps;
  return [
    apiRoute({
      ...common,
      method: 'GET',
      scope: 'project:read',
      summary: 'Retrieve how long the events of a project are kept',
      description:
        'Returns the policy of the project, the last and the next removal, and what the service keeps for how long.',
      responses: { 200: retentionSchema },
      handler: async (request) => {
        const stored = await findPolicy(db, request.project().id);
        return { status: 200, body: toRecord(stored, deps, clock.now()) };
      },
    }),
    apiRoute({
      ...common,
      path: `${common.path}/preview`,
      method: 'POST',
      scope: 'project:read',
      summary: 'Preview what a retention policy would remove now',
      description: 'Counts the events by month, name and kind. Changes nothing.',
      body: retentionPolicySchema,
      responses: { 200: retentionPreviewSchema },
      handler: async (request) => {
        const policy = checkPolicy(request.body);
        return { status: 200, body: await preview(deps, request.project().id, policy) };
      },
    }),
    changeRoute(deps),
  ];
}

function changeRoute(deps: RetentionRouteDeps): ApiRoute {
  const { db, clock } = deps;
  return apiRoute({
    ...common,
    method: 'PUT',
    scope: 'erasure:write',
    summary: 'Set how long the events of a project are kept',
    description:
      'Events that are older are removed permanently, from the next night on. A policy that removes events that the current one keeps ' +
      'must be confirmed with `expected_events`, the number of its preview.',
    body: retentionChangeSchema,
    responses: { 200: retentionSchema },
    handler: async (request) => {
      const { id, name } = request.project();
      const policy = checkPolicy(request.body);
      const current = await findPolicy(db, id);
      await checkExpected(deps, id, { policy, current, expected: request.body.expected_events });
      const now = clock.now();
      const saved = await db.transaction().execute(async (tx) => {
        const before = await findPolicy(tx, id);
        if (before?.updatedAt !== current?.updatedAt) throw changedMeanwhile();
        await savePolicy(tx, id, policy, now);
        const fields = { before: { ...(before?.policy ?? keepAll) }, after: { ...policy } };
        const change = { projectId: id, scope: 'RetentionPolicy', itemId: id, name, activity: 'updated' } as const;
        await recordChange(tx, actorOf(request), { ...change, ...fields, now });
        return await findPolicy(tx, id);
      });
      return { status: 200, body: toRecord(saved, deps, now) };
    },
  });
}

/** @throws ApiError if a name is listed twice */
function checkPolicy({ live_days, historical_days, events }: RetentionPolicy): RetentionPolicy {
  const names = new Set<string>();
  for (const [at, { event }] of events.entries()) {
    if (names.has(event)) {
      const detail = `Expected each event name once, got ${JSON.stringify(event)} again; combine its days in one entry.`;
      throw new ApiError('invalid_input', detail, { attr: `events__${at}__event` });
    }
    names.add(event);
  }
  const rules = events.map((rule) => ({
    event: rule.event,
    live_days: rule.live_days,
    historical_days: rule.historical_days,
  }));
  return { live_days, historical_days, events: rules };
}

interface Change {
  readonly policy: RetentionPolicy;
  readonly current: StoredPolicy | undefined;
  readonly expected: number | undefined;
}

/** @throws ApiError unless a policy that removes more than the current one was previewed */
async function checkExpected(deps: RetentionRouteDeps, projectId: number, change: Change): Promise<void> {
  const { policy, current, expected } = change;
  const cells = await expiredCells(deps, projectId, policy, current);
  const [events, newly] = [sum(cells, 'events'), sum(cells, 'newly')];
  if (newly === 0) return;
  if (expected === undefined) {
    const detail =
      `This policy removes ${events} events, ${newly} of which the current policy keeps. Check the preview, and send its number ` +
      'of events as expected_events.';
    throw new ApiError('required', detail, { attr: 'expected_events' });
  }
  if (events <= expected) return;
  const detail = `Expected at most ${expected} events to be removed, got ${events}; check the preview again.`;
  throw new ApiError('conflict', detail, { attr: 'expected_events' });
}

function changedMeanwhile(): ApiError {
  return new ApiError('conflict', 'The policy was changed in the meantime. Read it and its preview again.');
}

async function preview(
  deps: RetentionRouteDeps,
  projectId: number,
  policy: RetentionPolicy,
): Promise<RetentionPreview> {
  const now = deps.clock.now();
  const cells = await expiredCells(deps, projectId, policy, await findPolicy(deps.db, projectId));
  const shown = cells.slice(0, cellsMax).map(({ month, event, historical, events, bytes }) => {
    return { month: monthText(month), event, historical_migration: historical, events, bytes };
  });
  const months = [...Map.groupBy(cells, ({ month }) => month)].map(([month, of]) => {
    return { month: monthText(month), events: sum(of, 'events'), bytes: sum(of, 'bytes') };
  });
  const totals = { events: sum(cells, 'events'), newly_expired: sum(cells, 'newly'), bytes: sum(cells, 'bytes') };
  return { as_of: isoMicros(now), ...totals, months, cells: shown, is_truncated: cells.length > shown.length };
}

async function expiredCells(
  { store, clock }: RetentionRouteDeps,
  projectId: number,
  policy: RetentionPolicy,
  current: StoredPolicy | undefined,
): Promise<ExpiredCell[]> {
  const now = clock.now();
  const expiry = expiryOf(projectId, policy, now);
  const before = expiryOf(projectId, current?.policy ?? keepAll, now);
  try {
    return await fromStore(() => countExpired(store, expiry, before));
  } catch (cause) {
    if (!(cause instanceof TooManyNamesError)) throw cause;
    throw new ApiError('invalid_input', cause.message, { attr: 'live_days', cause });
  }
}

function sum(cells: readonly ExpiredCell[], of: 'events' | 'newly' | 'bytes'): number {
  return cells.reduce((total, cell) => total + cell[of], 0);
}

/** Formats 202403 as `2024-03`. */
function monthText(month: number): string {
  const digits = String(month);
  return `${digits.slice(0, 4)}-${digits.slice(4)}`;
}

function toRecord(
  stored: StoredPolicy | undefined,
  { serviceRetention: service }: RetentionRouteDeps,
  now: number,
): RetentionRecord {
  const policy = stored?.policy ?? keepAll;
  const isIdle = stored === undefined || keepsAll(policy);
  return {
    ...policy,
    updated_at: stored?.updatedAt ?? null,
    next_pass_at: isIdle ? null : isoMicros(nextPassAt(stored, now, service.retention_hour)),
    last_pass: stored?.lastPass ?? null,
    service,
  };
}
