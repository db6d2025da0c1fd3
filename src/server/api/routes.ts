import type { Clock } from '../../base/clock.ts';
import type { Ingest } from '../../wire/batch/ingest.ts';
import type { AgreementMode } from '../../wire/contract/historical-settings.ts';
import type { ServiceRetention } from '../../wire/contract/retention.ts';
import type { EventStore } from '../../stores/events/eventstore.ts';
import { apiRoute, type ApiRoute, type Principal } from '../http/api-route.ts';
import type { LiveHub } from '../../pipeline/live/hub.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { PrepareDeps } from '../../plugins/packages/prepare-plugin.ts';
import type { PluginRegistry } from '../../plugins/plugin-registry.ts';
import { personByUuid, personsByDistinctIds } from '../../pipeline/persons/read-persons.ts';
import { serviceTrialDeps, type TrialSource } from '../../pipeline/transform/trial-deps.ts';
import { activityLogRoutes } from './activity-log.ts';
import { deadLetterReplayRoutes } from './dead-letter-replays.ts';
import { deadLetterTrialRoutes } from './dead-letter-trials.ts';
import { deadLetterRoutes } from './dead-letters.ts';
import { eventRoutes, fromStore, type EventRouteDeps } from './events.ts';
import { erasureCertificateRoutes } from './erasure-certificates.ts';
import { erasureRoutes } from './erasures.ts';
import { eventReplayRoutes } from './event-replays.ts';
import { exportRoutes } from './exports.ts';
import { historicalMigrationRoutes } from './historical-migrations.ts';
import { historicalSettingsRoutes } from './historical-settings.ts';
import { listConfigs } from '../../plugins/configs/stored-config.ts';
import { importedEventsRoutes } from './imported-counts.ts';
import { importFormatRoutes } from './import-formats.ts';
import { importPreviewRoutes } from './import-preview.ts';
import { importRunRoutes } from './import-runs.ts';
import type { ImportPlaces } from './import-runs-deps.ts';
import type { Staging } from '../../imports/staging.ts';
import { ingestionWarningRoutes } from './ingestion-warnings.ts';
import { definitionRoutes } from './definitions.ts';
import { nameRoutes, rememberNames } from './names.ts';
import { noticeDestinationRoutes } from './notice-destinations.ts';
import { liveEventRoutes } from './live-events.ts';
import { jobRoutes } from './jobs.ts';
import { openApiRoutes } from './openapi.ts';
import { personRoutes } from './persons.ts';
import { personalApiKeyRoutes, deleteKey, toKeyRecord } from './personal-api-keys.ts';
import { pluginConfigViewRoutes } from './plugin-config-view.ts';
import { pluginConfigRoutes } from './plugin-configs.ts';
import { pluginRoutes } from './plugins.ts';
import { projectLimitRoutes, type ProjectLimitRouteDeps } from './project-limits.ts';
import { projectRoutes } from './projects.ts';
import { retentionRoutes } from './retention.ts';
import { signInRoutes } from './sign-in.ts';
import { statusRoutes, type StatusSource } from './status.ts';
import { sampleEventRoutes } from './sample-events.ts';
import { trackingPlanLearnRoutes } from './tracking-plan-learn.ts';
import { trackingPlanRoutes } from './tracking-plan.ts';
import { transformationTestRoutes } from './transformation-tests.ts';
import { currentUserRoutes } from './current-user.ts';
import { userSessionRoutes } from './user-sessions.ts';
import { userRoutes, userOf } from './users.ts';
import { scopeCatalogue, scopeCatalogueSchema } from '../../wire/contract/scope-presets.ts';
import { ApiError, orNotFound } from '../../wire/contract/errors.ts';
import { findFirstProject, allowedProjects } from '../http/auth-queries.ts';
import { usageQuerySchema, usageSchema } from '../../wire/contract/events.ts';
import { usageByDay } from '../../stores/events/counts.ts';
import { KeptCounts } from '../../stores/events/kept-counts.ts';
import { parseMicros } from '../../stores/events/micros.ts';
import { Type } from 'typebox';
import {
  groupFindSchema,
  groupPageSchema,
  groupQuerySchema,
  groupSchema,
  groupTypeSchema,
} from '../../wire/contract/groups.ts';
import { pageOf, toPage, pageLimitMax } from '../../wire/contract/pagination.ts';
import { findGroup, listGroups, listGroupTypes } from '../../pipeline/persons/read-groups.ts';
import { organizationSchema, type OrganizationRecord } from '../../wire/contract/organizations.ts';
import { getOrganization } from '../../stores/metadata/organizations.ts';
import { listProjects } from '../../stores/metadata/projects.ts';
import { personalApiKeyParamsSchema, personalApiKeySchema } from '../../wire/contract/keys.ts';
import { userParamsSchema } from '../../wire/contract/users.ts';
import { listPersonalApiKeys } from '../../stores/metadata/personal-api-keys.ts';
import type { SessionPolicy } from '../../stores/metadata/sessions.ts';

interface UserKeyRouteDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  /** Called after a key was deleted, so that it stops working immediately. */
  readonly forgetKey: (keyId: string) => void;
}

const path = '/api/users/:user_id/personal_api_keys';
const tag = 'Personal API keys';

/** Routes for admins to list and revoke personal keys of every user, without their values. */
export function userKeyRoutes(deps: UserKeyRouteDeps): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path,
      scope: 'personal_api_key:read',
      role: 'admin',
      tag,
      summary: 'List the personal API keys of a user, newest first',
      params: userParamsSchema,
      responses: { 200: Type.Array(personalApiKeySchema) },
      handler: async ({ principal, params }) => {
        const user = await userOf(deps.db, principal.organizationId, params.user_id);
        return { status: 200, body: (await listPersonalApiKeys(deps.db, user.id)).map(toKeyRecord) };
      },
    }),
    apiRoute({
      method: 'DELETE',
      path: `${path}/:id`,
      scope: 'personal_api_key:write',
      role: 'admin',
      tag,
      summary: 'Revoke a personal API key of a user',
      description: 'Revokes the key immediately. A key can only revoke keys with at most its own rights.',
      params: Type.Object({ ...userParamsSchema.properties, ...personalApiKeyParamsSchema.properties }),
      responses: { 204: null },
      handler: async (request) => {
        const { principal, params } = request;
        const user = await userOf(deps.db, principal.organizationId, params.user_id);
        return deleteKey(deps, request, { userId: user.id, id: params.id });
      },
    }),
  ];
}

export interface ApiDeps extends Pick<ProjectLimitRouteDeps, 'limitDefaults'> {
  readonly db: Metadata;
  readonly store: EventStore;
  readonly ingest: Ingest;
  readonly clock: Clock;
  /** Connects readers of the live stream. */
  readonly live: LiveHub;
  readonly status: StatusSource;
  readonly registry: PluginRegistry;
  /** Dependencies of installing plugins. */
  readonly packages: PrepareDeps;
  /** Storage for files of imports. `undefined` if this process has none; requests that need it return 503. */
  readonly imports?: ImportPlaces | undefined;
  /** Files of exports. `undefined` if this process has none; requests that need them return 503. */
  readonly exports?: Staging | undefined;
  /** Dependencies of testing transformations. */
  readonly trials: TrialSource;
  /** Maximum size of an event in the pipeline, in bytes of JSON. */
  readonly eventBytesMax: number;
  readonly forgetKey: (keyId: string) => void;
  readonly agreementMode: AgreementMode;
  /** What the service keeps for how long. */
  readonly serviceRetention: ServiceRetention;
  /** Name of the provider that users sign in with; `undefined` if none is set up. */
  readonly oidcName?: string | undefined;
  /** Default: sessions of 14 days. */
  readonly sessionPolicy?: SessionPolicy;
  /** Days within which new keys must expire; `undefined` for no limit. */
  readonly keyDaysMax?: number | undefined;
  readonly forgetUser: (userId: number) => void;
  readonly forgetProject: (projectId: number) => void;
}

async function countActive({ db, clock }: Pick<ApiDeps, 'db' | 'clock'>, projectId: number): Promise<number> {
  const configs = await listConfigs(db, { projectId, family: 'transformation', now: clock.now() });
  return configs.filter(({ enabled }) => enabled).length;
}

/** Every operation of the management API, including its description. */
export function apiRoutes(deps: ApiDeps): ApiRoute[] {
  const { db, store } = deps;
  const trials = serviceTrialDeps(db, deps.trials);
  const persons = {
    byDistinctIds: (projectId: number, ids: readonly string[]) => personsByDistinctIds(db, projectId, ids),
    byUuid: (projectId: number, uuid: string) => personByUuid(db, projectId, uuid),
  };
  const names = rememberNames(deps);
  const routes = [
    ...projectRoutes(deps),
    ...currentUserRoutes(deps),
    ...organizationRoutes(deps),
    ...userRoutes(deps),
    ...userSessionRoutes(deps),
    ...signInRoutes({ oidcName: deps.oidcName }),
    ...personalApiKeyRoutes(deps),
    ...userKeyRoutes(deps),
    ...scopeCatalogueRoutes(deps),
    ...pluginRoutes(deps),
    ...pluginConfigRoutes(deps),
    ...pluginConfigViewRoutes(deps),
    ...importRunRoutes(deps),
    ...importFormatRoutes(deps),
    ...importPreviewRoutes(deps),
    ...transformationTestRoutes({ ...deps, trials }),
    ...sampleEventRoutes(deps),
    ...jobRoutes(deps),
    ...eventReplayRoutes(deps),
    ...erasureCertificateRoutes(deps),
    ...erasureRoutes({ ...deps, staging: deps.imports?.staging }),
    ...activityLogRoutes(deps),
    ...eventRoutes({ store, persons }),
    ...flatEventRoutes({ db, store, persons }),
    ...nameRoutes(names),
    ...definitionRoutes(names),
    ...noticeDestinationRoutes(deps),
    ...liveEventRoutes(deps),
    ...statusRoutes(deps),
    ...importedEventsRoutes({ store, activeTransformations: (projectId) => countActive(deps, projectId) }),
    ...usageRoutes({ store }),
    ...personRoutes(deps),
    ...groupRoutes({ db }),
    ...ingestionWarningRoutes(deps),
    ...trackingPlanRoutes(deps),
    ...trackingPlanLearnRoutes(deps),
    ...deadLetterRoutes(deps),
    ...deadLetterReplayRoutes(deps),
    ...deadLetterTrialRoutes({ ...deps, trials }),
    ...exportRoutes(deps),
    ...historicalMigrationRoutes(deps),
    ...historicalSettingsRoutes(deps),
    ...retentionRoutes(deps),
    ...projectLimitRoutes(deps),
  ];
  return [...routes, ...openApiRoutes(routes)];
}

/** Routes of scopes and roles. */
export function scopeCatalogueRoutes({ keyDaysMax }: Pick<ApiDeps, 'keyDaysMax'> = {}): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: '/api/scopes',
      scope: 'any-key',
      tag: 'Personal API keys',
      summary: 'List scopes, scope presets, user roles and the policy of keys',
      description: "Returns scopes and roles. A key has the permissions of its scopes, limited by its user's role.",
      responses: { 200: scopeCatalogueSchema },
      handler: async () => ({ status: 200, body: { ...scopeCatalogue, key_days_max: keyDaysMax ?? null } }),
    }),
  ];
}

interface FlatEventDeps extends EventRouteDeps {
  readonly db: Metadata;
}

/** `/api/event`, used by older PostHog scripts to read events of the project that `@current` refers to. */
export function flatEventRoutes({ db, ...deps }: FlatEventDeps): ApiRoute[] {
  const routes = eventRoutes(deps).filter(({ path }) => !path.endsWith('/counts'));
  return routes.map((route) => flatRoute(db, route));
}

function flatRoute(db: Metadata, route: ApiRoute): ApiRoute {
  return {
    ...route,
    path: route.path.replace('/api/projects/:project_id/events', '/api/event'),
    summary: `${route.summary} of the current project`,
    handler: async (request) => {
      const project = await findFirstProject(db, request.principal);
      if (project === undefined) throw new ApiError('not_found', 'Project not found.');
      return route.handler({ ...request, project: () => project });
    },
  };
}

/** Events received per day: standard ones, and those of historical imports, which are free, separately. */
export function usageRoutes({ store }: { readonly store: EventStore }): ApiRoute[] {
  const kept = new KeptCounts(store);
  return [
    apiRoute({
      method: 'GET',
      path: '/api/projects/:project_id/usage',
      scope: 'project:read',
      tag: 'Projects',
      summary: 'Count events received per day',
      description:
        'Counts each event once, on the day of its first arrival (UTC). Days without events are omitted. Historical events are not ' +
        'billed.',
      query: usageQuerySchema,
      responses: { 200: usageSchema },
      handler: async (request) => {
        const { after, before } = request.query;
        const range = { after: readDay(after, 'after'), before: readDay(before, 'before') };
        const results = await fromStore(() => usageByDay(store, request.project().id, range, kept));
        const total = { standard: 0, historical: 0 };
        for (const day of results) {
          total.standard += day.standard;
          total.historical += day.historical;
        }
        return { status: 200, body: { results, total } };
      },
    }),
  ];
}

function readDay(text: string | undefined, attr: string): bigint | undefined {
  if (text === undefined) return undefined;
  const micros = /^\d{4}-\d\d-\d\d$/.test(text) ? parseMicros(text) : undefined;
  if (micros !== undefined) return micros;
  throw new ApiError('invalid_input', 'Expected a day such as 2026-11-20.', { attr });
}

const common = { method: 'GET', scope: 'group:read', tag: 'Groups' } as const;

/** Routes of groups (companies, teams …). */
export function groupRoutes({ db }: { readonly db: Metadata }): ApiRoute[] {
  return [
    apiRoute({
      ...common,
      path: '/api/projects/:project_id/groups',
      summary: 'List the groups of a type, by key',
      query: groupQuerySchema,
      responses: { 200: groupPageSchema },
      handler: async (request) => {
        const page = pageOf(request.query);
        const { group_type_index: typeIndex, search } = request.query;
        const { count, groups } = await listGroups(db, request.project().id, { typeIndex, search }, page);
        return { status: 200, body: toPage(request.url, request.rawQuery, page, count, groups) };
      },
    }),
    apiRoute({
      ...common,
      path: '/api/projects/:project_id/groups/find',
      summary: 'Retrieve a group by key',
      query: groupFindSchema,
      responses: { 200: groupSchema },
      handler: async (request) => {
        const { group_type_index: typeIndex, group_key: key } = request.query;
        return { status: 200, body: orNotFound(await findGroup(db, request.project().id, typeIndex, key)) };
      },
    }),
    apiRoute({
      ...common,
      path: '/api/projects/:project_id/groups_types',
      summary: 'List the group types of the project',
      responses: { 200: Type.Array(groupTypeSchema) },
      handler: async (request) => ({ status: 200, body: await listGroupTypes(db, request.project().id) }),
    }),
  ];
}

/** There is one organisation, that of the caller: any other returns 404. */
export function organizationRoutes({ db }: { readonly db: Metadata }): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: '/api/organizations/:organization_id',
      scope: 'organization:read',
      tag: 'Users',
      summary: "Retrieve the caller's organisation",
      params: Type.Object({ organization_id: Type.String({ description: 'Id of the organisation, or `@current`.' }) }),
      responses: { 200: organizationSchema },
      handler: async ({ principal, params }) => {
        const { organization_id: id } = params;
        if (id !== '@current' && id !== principal.organizationId)
          throw new ApiError('not_found', 'Organization not found.');
        return { status: 200, body: await organizationOf(db, principal) };
      },
    }),
  ];
}

async function organizationOf(db: Metadata, principal: Principal): Promise<OrganizationRecord> {
  const { organizationId, role } = principal;
  const organization = await getOrganization(db, organizationId);
  if (organization === undefined) throw new ApiError('not_found', 'Organization not found.');
  const ids = allowedProjects(principal);
  const { projects } = await listProjects(db, { organizationId, ids, limit: pageLimitMax });
  return {
    id: organization.id,
    name: organization.name,
    created_at: organization.createdAt,
    role,
    membership_level: role === 'admin' ? 8 : 1,
    projects: projects.map(({ id, uuid, name, timezone }) => ({
      id,
      uuid,
      organization: organizationId,
      name,
      timezone,
    })),
  };
}
