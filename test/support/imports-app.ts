import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTestApp, type TestApp } from './app.ts';
import { openStaging } from '../../src/imports/staging/open-staging.ts';
import type { StoreReader } from '../../src/stores/events/eventstore.ts';
import type { Staging } from '../../src/imports/staging.ts';
import { definePlugin, importRunJobs, wrongSetting, type Plugin } from '../../src/plugins/plugin.ts';
import { createRegistry } from '../../src/plugins/plugin-registry.ts';
import { syncPlugins } from '../../src/plugins/built-in/sync-plugins.ts';
import { activityLogRoutes } from '../../src/server/api/activity-log.ts';
import { importRunRoutes } from '../../src/server/api/import-runs.ts';
import { jobRoutes } from '../../src/server/api/jobs.ts';
import { pluginConfigRoutes } from '../../src/server/api/plugin-configs.ts';

/** A source of nothing, at any place but nowhere; what runs do with it is the worker's affair. */
const testSource: Plugin = definePlugin({
  slug: 'test-source',
  kind: 'import-app',
  name: 'Test source',
  description: 'A source of nothing.',
  version: '1.0.0',
  jobs: importRunJobs,
  fields: [{ key: 'place', name: 'Place', type: 'string', required: true }],
  formats: ['mixpanel'],
  range: 'The time of the event.',
  example: { place: 'here' },
  createSource: ({ place }) => {
    if (place === 'nowhere') throw wrongSetting('place', 'expected a place, got: nowhere');
    return {
      concurrency: 1,
      listParts: async () => [],
      async *open() {
        // Nothing.
      },
    };
  },
});

/** An import app with a job for a runner. */
const testApp: Plugin = definePlugin({
  slug: 'test-app',
  kind: 'import-app',
  name: 'Test app',
  description: 'An import app without runs.',
  version: '1.0.0',
  fields: [],
  jobs: { run: { description: 'Does nothing.', run: async () => undefined } },
});

export interface ImportsAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ImportsApp extends AsyncDisposable {
  readonly app: TestApp;
  readonly staging: Staging;
  readonly uploadsDir: string;
  readonly authorization: string;
  /** Of the project: '/api/projects/1'. */
  readonly base: string;
  /** Id of a config of the test source with these settings. */
  config(settings?: object, slug?: string): Promise<number>;
  /** `path` is what follows the project's. With a key of every scope. */
  call(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD',
    path: string,
    payload?: object,
    headers?: Record<string, string>,
  ): Promise<ImportsAnswer>;
}

/** The real server with the routes of imports; the files of runs and uploads lie in a temp directory. */
export async function startImportsApp(
  more: {
    readonly uploadBytesMax?: number;
    readonly uploadsBytesMax?: number;
    readonly hasPlaces?: boolean;
    readonly store?: StoreReader;
    /** Besides the test's own. */
    readonly plugins?: readonly Plugin[];
  } = {},
): Promise<ImportsApp> {
  const dir = await mkdtemp(join(tmpdir(), 'millrace-imports-'));
  const staging = await openStaging(join(dir, 'staging'));
  const uploadsDir = join(dir, 'uploads');
  const plugins = [testSource, testApp, ...(more.plugins ?? [])];
  const registry = createRegistry(plugins);
  const { uploadBytesMax = 1_000_000, uploadsBytesMax = 5_000_000 } = more;
  const places = { staging, uploadsDir, uploadBytesMax, uploadsBytesMax, progressMs: 20 };
  const imports = more.hasPlaces === false ? undefined : places;
  const app = await startTestApp((db, { clock }) => [
    ...pluginConfigRoutes({ db, clock, registry }),
    ...importRunRoutes({ db, clock, registry, imports, store: more.store }),
    ...jobRoutes({ db, clock }),
    ...activityLogRoutes({ db }),
  ]);
  await syncPlugins(app.db, plugins, app.clock.now());
  const authorization = `Bearer ${await app.key()}`;
  const base = `/api/projects/${app.project.id}`;
  const call: ImportsApp['call'] = async (method, path, payload, headers = {}) => {
    app.clock.advance(1_000);
    const json = payload === undefined || Buffer.isBuffer(payload) ? {} : { 'content-type': 'application/json' };
    const request = { method, url: `${base}${path}`, headers: { authorization, ...json, ...headers } };
    const reply = await app.inject(payload === undefined ? request : { ...request, payload });
    const isJson = String(reply.headers['content-type']).startsWith('application/json');
    const body = isJson && reply.body !== '' ? (JSON.parse(reply.body) as ImportsAnswer['body']) : {};
    return { status: reply.statusCode, headers: reply.headers, text: reply.body, body };
  };
  return {
    app,
    staging,
    uploadsDir,
    authorization,
    base,
    call,
    async config(settings = { place: 'here' }, slug = 'test-source') {
      const { id } = await app.db.selectFrom('plugins').select('id').where('slug', '=', slug).executeTakeFirstOrThrow();
      const { status, body, text } = await call('POST', '/pipeline_import_apps_configs/', { plugin: id });
      if (status !== 201) throw new Error(`expected a config, got ${status}: ${text}`);
      const changed = await call('PATCH', `/pipeline_import_apps_configs/${Number(body['id'])}/settings/`, settings);
      if (changed.status >= 300)
        throw new Error(`expected settings to be taken, got ${changed.status}: ${changed.text}`);
      return Number(body['id']);
    },
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
