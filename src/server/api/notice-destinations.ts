import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { ApiError, orNotFound } from '../../wire/contract/errors.ts';
import {
  deliveryIdSchema,
  deliveryPageSchema,
  deliverySchema,
  destinationCreateSchema,
  destinationIdSchema,
  destinationPageSchema,
  destinationSchema,
  destinationUpdateSchema,
  newDestinationSchema,
  noticeEventsOf,
  type DestinationCreate,
  type DestinationKind,
  type DestinationUpdate,
  type NoticeOwner,
} from '../../wire/contract/notices.ts';
import { pageOf, pageQuerySchema, toPage } from '../../wire/contract/pagination.ts';
import type { Scope } from '../../wire/contract/scopes.ts';
import { actorOf } from '../http/actor.ts';
import { apiRoute, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import { readDatabaseTime } from '../../stores/metadata/database-clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { recordChange } from '../../stores/metadata/record-change.ts';
import {
  createDestination,
  deleteDestination,
  findDestination,
  listDestinations,
  toDestinationRecord,
  updateDestination,
  type Address,
  type Destination,
  type DestinationOwner,
} from '../../queue/notices/destinations.ts';
import { findDelivery, listDeliveries, enqueueTestNotice } from '../../queue/notices/outbox.ts';

export interface NoticeRouteDeps {
  readonly db: Metadata;
  readonly clock: Clock;
}

/** Routes of notification destinations, of a project and of the service as a whole. */
export function noticeDestinationRoutes(deps: NoticeRouteDeps): ApiRoute[] {
  return [...routesOf(deps, ofProject), ...routesOf(deps, ofService)];
}

interface Place {
  readonly owner: NoticeOwner;
  readonly path: string;
  readonly read: Scope;
  readonly write: Scope;
  readonly words: string;
  readonly ownerOf: (request: ApiRequest) => DestinationOwner;
}

const ofProject: Place = {
  owner: 'project',
  path: '/api/projects/:project_id/notice_destinations',
  read: 'notice:read',
  write: 'notice:write',
  words: 'a project',
  ownerOf: (request) => {
    const { id: projectId, organizationId } = request.project();
    return { organizationId, projectId };
  },
};

const ofService: Place = {
  owner: 'service',
  path: '/api/notice_destinations',
  read: 'organization:read',
  write: 'organization:write',
  words: 'the service as a whole',
  ownerOf: ({ principal: { organizationId } }) => ({ organizationId, projectId: null }),
};

const tag = 'Notices';

function routesOf(deps: NoticeRouteDeps, place: Place): ApiRoute[] {
  return [
    listRoute(deps, place),
    createRoute(deps, place),
    ...recordRoutes(deps, place),
    ...deliveryRoutes(deps, place),
  ];
}

function listRoute({ db }: NoticeRouteDeps, { path, read, words, ownerOf }: Place): ApiRoute {
  return apiRoute({
    method: 'GET',
    path,
    tag,
    scope: read,
    summary: `List the notification destinations of ${words}, oldest first`,
    query: pageQuerySchema,
    responses: { 200: destinationPageSchema },
    handler: async (request) => {
      const page = pageOf(request.query);
      const { count, destinations } = await listDestinations(db, ownerOf(request), page);
      const records = destinations.map(toDestinationRecord);
      return { status: 200, body: toPage(request.url, request.rawQuery, page, count, records) };
    },
  });
}

function createRoute({ db, clock }: NoticeRouteDeps, { owner, path, write, words, ownerOf }: Place): ApiRoute {
  return apiRoute({
    method: 'POST',
    path,
    tag,
    scope: write,
    summary: `Create a notification destination for ${words}`,
    description:
      '`webhook` and `slack` require `url`, `email` requires `to`. The response contains the signing key of a webhook, which is ' +
      'never shown again.',
    body: destinationCreateSchema(owner),
    responses: { 201: newDestinationSchema },
    handler: async (request) => {
      const { name, kind, events = noticeEventsOf(owner), enabled = true } = request.body;
      const address = newAddress(request.body);
      const now = clock.now();
      const made = await db.transaction().execute(async (tx) => {
        const fields = { name, kind, address, events, enabled };
        const destination = await createDestination(tx, ownerOf(request), fields, now);
        await record(tx, request, { activity: 'created', after: destination, now });
        return destination;
      });
      const location = `${request.url.replace(/\/$/, '')}/${made.id}/`;
      const body = { ...toDestinationRecord(made), secret: address.secret ?? null };
      return { status: 201, body, headers: { location } };
    },
  });
}

function recordRoutes({ db, clock }: NoticeRouteDeps, { owner, path, read, write, ownerOf }: Place): ApiRoute[] {
  const common = { path: `${path}/:id`, tag, params: destinationIdSchema } as const;
  return [
    apiRoute({
      ...common,
      method: 'GET',
      scope: read,
      summary: 'Retrieve a destination',
      responses: { 200: destinationSchema },
      handler: async (request) => {
        const found = orNotFound(await findDestination(db, ownerOf(request), request.params.id));
        return { status: 200, body: toDestinationRecord(found) };
      },
    }),
    apiRoute({
      ...common,
      method: 'PATCH',
      scope: write,
      summary: 'Change a destination',
      description: 'Updates the given fields. The kind cannot be changed.',
      body: destinationUpdateSchema(owner),
      responses: { 200: destinationSchema },
      handler: async (request) => {
        const { body, params } = request;
        const now = clock.now();
        const changed = await db.transaction().execute(async (tx) => {
          const before = orNotFound(await findDestination(tx, ownerOf(request), params.id));
          const { name = before.name, events = before.events, enabled = before.enabled } = body;
          const fields = { name, events, enabled, address: changedAddress(before, body) };
          const after = await updateDestination(tx, before, fields, now);
          await record(tx, request, { activity: 'updated', before, after, now });
          return after;
        });
        return { status: 200, body: toDestinationRecord(changed) };
      },
    }),
    apiRoute({
      ...common,
      method: 'DELETE',
      scope: write,
      summary: 'Delete a destination and its pending deliveries',
      responses: { 204: null },
      handler: async (request) => {
        await db.transaction().execute(async (tx) => {
          const before = orNotFound(await findDestination(tx, ownerOf(request), request.params.id));
          await deleteDestination(tx, before.id);
          await record(tx, request, { activity: 'deleted', before, now: clock.now() });
        });
        return { status: 204 };
      },
    }),
  ];
}

function deliveryRoutes({ db }: NoticeRouteDeps, { path, read, write, ownerOf }: Place): ApiRoute[] {
  const kept = 'Newest first. Sent notifications are kept for a week, failed ones for a month.';
  return [
    apiRoute({
      method: 'POST',
      path: `${path}/:id/test`,
      tag,
      scope: write,
      summary: 'Send a test notification to a destination',
      description:
        'Sends one attempt within seconds, even if the destination is disabled; see `deliveries` for the outcome.',
      params: destinationIdSchema,
      responses: { 202: deliverySchema },
      handler: async (request) => {
        const body = await db.transaction().execute(async (tx) => {
          const found = orNotFound(await findDestination(tx, ownerOf(request), request.params.id));
          const id = await enqueueTestNotice(tx, found, await readDatabaseTime(tx));
          return orNotFound(await findDelivery(tx, found.id, id));
        });
        return { status: 202, body };
      },
    }),
    apiRoute({
      method: 'GET',
      path: `${path}/:id/deliveries`,
      tag,
      scope: read,
      summary: 'List the deliveries of a destination',
      description: kept,
      params: destinationIdSchema,
      query: pageQuerySchema,
      responses: { 200: deliveryPageSchema },
      handler: async (request) => {
        const { id } = orNotFound(await findDestination(db, ownerOf(request), request.params.id));
        const page = pageOf(request.query);
        const { count, deliveries } = await listDeliveries(db, id, page);
        return { status: 200, body: toPage(request.url, request.rawQuery, page, count, deliveries) };
      },
    }),
    apiRoute({
      method: 'GET',
      path: `${path}/:id/deliveries/:delivery`,
      tag,
      scope: read,
      summary: 'Retrieve a delivery',
      params: deliveryIdSchema,
      responses: { 200: deliverySchema },
      handler: async (request) => {
        const { id } = orNotFound(await findDestination(db, ownerOf(request), request.params.id));
        return { status: 200, body: orNotFound(await findDelivery(db, id, request.params.delivery)) };
      },
    }),
  ];
}

const urlNeeded = 'expected a URL such as https://hooks.example.com/T0/B0, without user and password';

/** @throws ApiError */
function newAddress({ kind, url, to, secret }: DestinationCreate): Address {
  const given = addressOf(kind, { url, to, secret });
  if (kind === 'email') {
    if (given.to === undefined)
      throw new ApiError('required', 'This field is required: recipients of the e-mail.', { attr: 'to' });
    return given;
  }
  if (given.url === undefined) throw new ApiError('required', `This field is required: ${urlNeeded}.`, { attr: 'url' });
  return kind === 'slack' ? given : { ...given, secret: given.secret ?? randomBytes(32).toString('hex') };
}

/** @throws ApiError */
function changedAddress(before: Destination, { url, to, secret }: DestinationUpdate): Address {
  return { ...before.address, ...addressOf(before.kind, { url, to, secret }) };
}

const fieldsOf = { webhook: ['url', 'secret'], slack: ['url'], email: ['to'] } as const satisfies Record<
  DestinationKind,
  readonly (keyof Address)[]
>;

/** Validates the given fields: those that the kind does not have are refused. */
function addressOf(kind: DestinationKind, given: Readonly<Record<keyof Address, unknown>>): Address {
  const fields: readonly string[] = fieldsOf[kind];
  for (const [field, value] of Object.entries(given)) {
    if (value === undefined || fields.includes(field)) continue;
    throw new ApiError('invalid_input', `A destination of kind ${kind} does not have this field.`, { attr: field });
  }
  // Sound: the schemas have checked the types.
  const { url, to, secret } = given as Address;
  if (url !== undefined && !isPostable(url)) throw new ApiError('invalid_input', `${urlNeeded}.`, { attr: 'url' });
  if (to?.every(isMailAddress) === false) {
    throw new ApiError('invalid_input', 'Expected addresses such as ops@example.com.', { attr: 'to' });
  }
  return {
    ...(url !== undefined && { url }),
    ...(to !== undefined && { to }),
    ...(secret !== undefined && { secret }),
  };
}

function isPostable(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}

/** Whether it is exactly one address, so that no headers can be injected. */
function isMailAddress(text: string): boolean {
  return /^[^\s@<>,;:"()[\]\\\p{Cc}]+@[^\s@<>,;:"()[\]\\\p{Cc}]+$/u.test(text);
}

async function record(
  tx: Queries,
  request: ApiRequest,
  change: {
    readonly activity: string;
    readonly before?: Destination;
    readonly after?: Destination;
    readonly now: number;
  },
): Promise<void> {
  const { before, after, activity, now } = change;
  const { id, name, projectId } = orNotFound(after ?? before);
  await recordChange(tx, actorOf(request), {
    activity,
    projectId,
    scope: 'NoticeDestination',
    itemId: id,
    name,
    before: before && toDestinationRecord(before),
    after: after && toDestinationRecord(after),
    now,
  });
}
