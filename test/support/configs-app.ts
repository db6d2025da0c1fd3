import { startTestApp, type RouteContext, type TestApp } from './app.ts';
import { familyPaths, type Family } from '../../src/wire/contract/plugins.ts';
import type { ApiRoute } from '../../src/server/http/api-route.ts';
import type { Settings } from '../../src/server/config/settings.ts';
import type { Metadata } from '../../src/stores/metadata/database.ts';
import { testPlugins } from './plugin-rows.ts';
import type { PrepareDeps } from '../../src/plugins/packages/prepare-plugin.ts';
import { createRegistry, type PluginRegistry } from '../../src/plugins/plugin-registry.ts';
import { syncPlugins } from '../../src/plugins/built-in/sync-plugins.ts';
import { activityLogRoutes } from '../../src/server/api/activity-log.ts';
import { importScheduleRoutes } from '../../src/server/api/import-schedules.ts';
import { jobRoutes } from '../../src/server/api/jobs.ts';
import { pluginConfigRoutes } from '../../src/server/api/plugin-configs.ts';
import { pluginRoutes } from '../../src/server/api/plugins.ts';
import { projectRoutes } from '../../src/server/api/projects.ts';
import { trackingPlanRoutes } from '../../src/server/api/tracking-plan.ts';
import type { Plugin } from '../../src/plugins/plugin.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Parsed JSON; undefined without a body. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly text: string;
}

export interface ConfigsApp extends AsyncDisposable {
  readonly app: TestApp;
  /** Id of the test plugin of a family. */
  pluginOf(family: Family): number;
  /** With a key of every scope. `path` is what follows the family's path; an object goes out as JSON, a text as it is under JSON. */
  call(method: Method, family: Family, path: string, payload?: object | string, headers?: Headers): Promise<Answer>;
  get(path: string): Promise<Answer>;
  /** `path` is what follows `/plugins`. */
  plugins(method: Method, path: string, payload?: object, headers?: Headers): Promise<Answer>;
  /** A new plugin, or a new version of one, as a file of a multipart body. */
  upload(path: string, field: string, content: Uint8Array): Promise<Answer>;
  create(family: Family, fields?: object): Promise<number>;
  /** Newest first. */
  activity(id: number): Promise<readonly LoggedActivity[]>;
  revision(): Promise<number>;
}

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
type Headers = Readonly<Record<string, string>>;
export interface LoggedActivity {
  readonly activity: string;
  readonly is_system: boolean;
  readonly key_id: string | null;
  readonly request_id: string | null;
  readonly user: { readonly first_name: string } | null;
  readonly detail: { readonly changes: readonly { field: string; action: string; before: unknown; after: unknown }[] };
}

/** Of every record, in this order. */
export const recordKeys = [
  'id',
  'plugin',
  'enabled',
  'order',
  'config',
  'error',
  'team_id',
  'plugin_info',
  'delivery_rate_24h',
  'created_at',
  'updated_at',
  'name',
  'description',
  'deleted',
];

export const siteUrl = 'https://events.example.com/pipeline';

/** For tests that install nothing. */
const noPackages: PrepareDeps = {
  npmRegistry: 'https://registry.example',
  fetch: async ({ url }) => {
    throw new Error(`expected no request, got ${url}`);
  },
  sandbox: {
    describe: async ({ pluginName }) => {
      throw new Error(`expected no plugin, got ${pluginName}`);
    },
  },
};

function configsRoutes(
  db: Metadata,
  { clock, auth: { forgetProject } }: RouteContext,
  { registry, packages }: { readonly registry: PluginRegistry; readonly packages: PrepareDeps },
): ApiRoute[] {
  return [
    ...projectRoutes({ db, clock, forgetProject }),
    ...pluginConfigRoutes({ db, clock, registry }),
    ...importScheduleRoutes({ db, clock, registry }),
    ...pluginRoutes({ db, clock, packages }),
    ...activityLogRoutes({ db }),
    ...jobRoutes({ db, clock }),
    ...trackingPlanRoutes({ db, clock }),
  ];
}

/** The real server with the routes of plugin configs and projects; unless `plugins` says otherwise, with one plugin per family that has a setting of every type. */
export async function startConfigsApp(
  more: {
    readonly packages?: PrepareDeps;
    readonly plugins?: readonly Plugin[];
    readonly settings?: Partial<Settings>;
    /** Further routes. */
    readonly routes?: (db: Metadata, context: RouteContext) => readonly ApiRoute[];
  } = {},
): Promise<ConfigsApp> {
  const { plugins = testPlugins } = more;
  const registry = createRegistry(plugins);
  const routes = (db: Metadata, context: RouteContext): ApiRoute[] => [
    ...configsRoutes(db, context, { registry, packages: more.packages ?? noPackages }),
    ...(more.routes?.(db, context) ?? []),
  ];
  const app = await startTestApp(routes, { settings: { siteUrl: `${siteUrl}/`, ...more.settings } });
  await syncPlugins(app.db, plugins, app.clock.now());
  const authorization = `Bearer ${await app.key()}`;
  const ids = await app.db.selectFrom('plugins').select(['id', 'kind']).execute();
  const pluginOf = (family: Family): number => ids.find(({ kind }) => kind === family)?.id ?? 0;
  const send = async (method: Method, url: string, payload?: object | string, more: Headers = {}): Promise<Answer> => {
    app.clock.advance(1);
    const json = payload === undefined ? {} : { 'content-type': 'application/json' };
    const headers = { authorization, ...json, ...more };
    const reply = await app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
    return toAnswer(reply);
  };
  const call: ConfigsApp['call'] = (method, family, path, payload, headers) =>
    send(method, `/api/projects/${app.project.id}/${familyPaths[family]}${path}`, payload, headers);
  return {
    app,
    pluginOf,
    call,
    get: (path) => send('GET', `/api/projects/${app.project.id}${path}`),
    plugins: (method, path, payload, headers) =>
      send(method, `/api/projects/${app.project.id}/plugins${path}`, payload, headers),
    async upload(path, field, content) {
      const form = new FormData();
      form.set(field, new Blob([Uint8Array.from(content)]), 'plugin.bin');
      const request = new Request('http://localhost', { method: 'POST', body: form });
      const headers = { authorization, 'content-type': request.headers.get('content-type') ?? '' };
      const url = `/api/projects/${app.project.id}/plugins${path}`;
      const payload = Buffer.from(await request.arrayBuffer());
      return toAnswer(await app.inject({ method: path === '/' ? 'POST' : 'PATCH', url, headers, payload }));
    },
    async create(family, fields = {}) {
      const { status, body, text } = await call('POST', family, '/', { plugin: pluginOf(family), ...fields });
      if (status !== 201) throw new Error(`expected 201, got ${status}: ${text}`);
      return Number(body['id']);
    },
    async activity(id) {
      const { body } = await send(
        'GET',
        `/api/projects/${app.project.id}/activity_log/?scope=PluginConfig&item_id=${id}`,
      );
      return body['results'] as readonly LoggedActivity[];
    },
    async revision() {
      const row = await app.db.selectFrom('config_revisions').select('revision').executeTakeFirstOrThrow();
      return row.revision;
    },
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

function toAnswer(reply: Awaited<ReturnType<TestApp['inject']>>): Answer {
  const isJson = String(reply.headers['content-type']).startsWith('application/json');
  return {
    status: reply.statusCode,
    headers: reply.headers,
    body: isJson ? (reply.json() as Answer['body']) : {},
    text: reply.body,
  };
}
