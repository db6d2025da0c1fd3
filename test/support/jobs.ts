import { afterEach, beforeEach } from 'vitest';
import type { Capabilities } from '../../src/wire/contract/plugins.ts';
import { isoMicros, type Clock } from '../../src/base/clock.ts';
import { bumpConfigRevision } from '../../src/stores/metadata/config-revision.ts';
import type { DatabaseClock } from '../../src/stores/metadata/database-clock.ts';
import type { Metadata } from '../../src/stores/metadata/database.ts';
import { createOrganization } from '../../src/stores/metadata/organizations.ts';
import { createProject } from '../../src/stores/metadata/projects.ts';
import type { PluginField, SettingValues } from '../../src/plugins/fields.ts';
import type { JsonValue } from '../../src/base/json.ts';
import type {
  CallTarget,
  InstanceServices,
  InstanceSpec,
  LogLine,
  Sandbox,
  SandboxInstance,
} from '../../src/plugins/sandbox/sandbox.ts';
import { SandboxError } from '../../src/plugins/sandbox/sandbox.ts';
import type { DeliveryEvent } from '../../src/queue/jobs/deliveries.ts';
import type { InstalledPlugins } from '../../src/queue/jobs/open-app.ts';
import { claim, enqueue, findJob, listJobs, type Job, type NewJob } from '../../src/queue/jobs/queue.ts';

export const start = Date.parse('2026-11-20T10:00:00.000Z');

export interface JobsStore extends AsyncDisposable {
  /** Migrated; without projects. */
  readonly db: Metadata;
  /** Another handle on the same store, as another process has one. May be the same where there can be only one. */
  readonly other: Metadata;
}
export type OpenStore = () => Promise<JobsStore>;

/** A clock that stands still, or runs ahead of the real one by as much as it was moved. */
export function testClock(from: () => number = () => start) {
  let ahead = 0;
  return {
    now: () => from() + ahead,
    advance(ms: number) {
      ahead += ms;
    },
  };
}
export type TestClock = ReturnType<typeof testClock>;

/** In the place of the database's clock. */
export function sharedClock(clock: Clock): DatabaseClock {
  return { now: async () => clock.now() };
}

export async function addProject(db: Metadata): Promise<number> {
  const { id: organizationId } = await createOrganization(db, { name: 'o' }, start);
  return (await createProject(db, { organizationId, name: 'p' }, start)).id;
}

export const leaseMs = 1000;

/** A store with one project, new for every test. */
export interface JobsFixture {
  readonly db: Metadata;
  /** As another process has it. */
  readonly other: Metadata;
  readonly projectId: number;
  add(job: Partial<NewJob> & { readonly configId: number }): Promise<string>;
  /** Throws when none is due. */
  take(now: number, db?: Metadata): Promise<Job>;
  /** Oldest first. */
  allJobs(): Promise<Job[]>;
}

export function useStore(open: OpenStore): JobsFixture {
  let store: JobsStore;
  let projectId: number;
  beforeEach(async () => {
    store = await open();
    projectId = await addProject(store.db);
  });
  afterEach(() => store[Symbol.asyncDispose]());
  return {
    get db() {
      return store.db;
    },
    get other() {
      return store.other;
    },
    get projectId() {
      return projectId;
    },
    add: (job) => enqueue(store.db, { projectId, type: 'run', operation: 'start', payload: {}, now: start, ...job }),
    async take(now, db = store.db) {
      const job = await claim(db, now, leaseMs);
      if (job === undefined) throw new Error('expected a job to be due');
      return job;
    },
    async allJobs() {
      const { jobs } = await listJobs(store.db, { projectId }, { limit: 5000, offset: 0 });
      const found = await Promise.all(jobs.map(({ id }) => findJob(store.db, projectId, id)));
      return found.filter((job) => job !== undefined).toReversed();
    },
  };
}

export interface NewApp {
  readonly capabilities?: Partial<Capabilities>;
  readonly fields?: readonly PluginField[];
  readonly settings?: SettingValues;
  readonly enabled?: boolean;
  readonly code?: string;
  /** ms since the epoch: when the config was made. */
  readonly now?: number;
}

let made = 0;

/** An installed plugin with one version, and a config of it. Returns the config's id. */
export async function addApp(db: Metadata, projectId: number, app: NewApp = {}): Promise<number> {
  const time = isoMicros(app.now ?? start);
  const capabilities = JSON.stringify({ methods: [], scheduled_tasks: [], jobs: [], ...app.capabilities });
  const texts = { config_schema: JSON.stringify(app.fields ?? []), capabilities, public_jobs: '{}', created_at: time };
  const slug = `app-${++made}`;
  const about = { slug, kind: 'import-app', name: 'App', description: '', version: '1.0.0', url: null };
  const { id: plugin } = await db
    .insertInto('plugins')
    .values({ organization_id: null, ...about, ...texts, updated_at: time, latest_version_id: null })
    .returning('id')
    .executeTakeFirstOrThrow();
  const source = { source_kind: 'source', source_url: null, files: '{}', frontend: null, metrics: '{}', sha256: '' };
  const { id: version } = await db
    .insertInto('plugin_versions')
    .values({ plugin_id: plugin, version: '1.0.0', code: app.code ?? '', ...source, ...texts, created_by: null })
    .returning('id')
    .executeTakeFirstOrThrow();
  const { id } = await db
    .insertInto('plugin_configs')
    .values({
      project_id: projectId,
      plugin_id: plugin,
      plugin_version_id: version,
      family: 'import-app',
      enabled: app.enabled === false ? 0 : 1,
      position: 0,
      name: '',
      description: '',
      deleted: 0,
      settings: JSON.stringify(app.settings ?? {}),
      error: '',
      created_at: time,
      updated_at: time,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  await bumpConfigRevision(db);
  return id;
}

/** As a change through the API does it. */
export async function changeApp(
  db: Metadata,
  id: number,
  change: { readonly enabled?: number; readonly deleted?: number; readonly settings?: string },
  now: number,
): Promise<void> {
  await db
    .updateTable('plugin_configs')
    .set({ ...change, updated_at: isoMicros(now) })
    .where('id', '=', id)
    .execute();
  await bumpConfigRevision(db);
}

export async function errorOf(db: Metadata, id: number): Promise<string> {
  return (await db.selectFrom('plugin_configs').select('error').where('id', '=', id).executeTakeFirstOrThrow()).error;
}

/** The list of errors. */
export async function failuresOf(db: Metadata): Promise<object[]> {
  return db.selectFrom('plugin_errors').select(['config_id', 'method', 'name', 'message', 'stack']).execute();
}

export function deliveryEvent(event: string, more: Partial<DeliveryEvent> = {}): DeliveryEvent {
  return {
    uuid: '0190a0b0-0000-7000-8000-000000000001',
    event,
    distinctId: 'ada',
    teamId: 1,
    timestamp: '2026-11-20T10:00:00.000Z',
    receivedAt: start,
    propertiesText: '{}',
    markers: null,
    ...more,
  };
}

export function retryError(message: string, method = 'setupPlugin'): SandboxError {
  return new SandboxError('thrown', message, { method, errorName: 'RetryError', retry: true });
}

export function thrownError(message: string, method = 'job'): SandboxError {
  return new SandboxError('thrown', message, { method, errorName: 'TypeError', pluginStack: 'at index.js:1' });
}

export interface FakeSandbox extends InstalledPlugins {
  readonly opened: InstanceSpec[];
  readonly closed: number[];
  readonly calls: { readonly configId: number; readonly target: CallTarget }[];
  readonly lines: LogLine[];
}

export interface FakePlugin {
  readonly jobs?: readonly string[];
  readonly setup?: (spec: InstanceSpec) => Promise<void> | void;
  readonly call?: (target: CallTarget, signal: AbortSignal, spec: InstanceSpec) => Promise<JsonValue | void>;
}

/** Where plugins misbehave on request: what a real one does there is not what the tests with this double are about. */
export function fakeSandbox(plugin: FakePlugin = {}): FakeSandbox {
  const seen: Omit<FakeSandbox, keyof InstalledPlugins> = {
    opened: [],
    closed: [],
    calls: [],
    lines: [],
  };
  const described = {
    methods: [],
    scheduledTasks: ['runEveryMinute', 'runEveryHour', 'runEveryDay'],
    jobs: plugin.jobs ?? [],
    metrics: {},
  };
  const open = async (spec: InstanceSpec): Promise<SandboxInstance> => {
    seen.opened.push(spec);
    await plugin.setup?.(spec);
    return {
      described,
      processEvents: async () => [],
      async call(target, { signal = new AbortController().signal } = {}) {
        seen.calls.push({ configId: spec.configId, target });
        return (await plugin.call?.(target, signal, spec)) ?? null;
      },
      async close() {
        seen.closed.push(spec.configId);
      },
    };
  };
  const sandbox: Sandbox = { describe: async () => described, open, close: async () => undefined };
  return {
    ...seen,
    sandbox,
    services: () => fakeServices(seen.lines),
    loadProgram: async () => ({ pluginName: 'App', code: '' }),
  };
}

function fakeServices(lines: LogLine[]): InstanceServices {
  const unexpected = (): never => {
    throw new Error('expected no use of the services');
  };
  return {
    storage: { get: unexpected, getMany: unexpected, set: unexpected, delete: unexpected, increment: unexpected },
    cache: {
      get: unexpected,
      set: unexpected,
      delete: unexpected,
      increment: unexpected,
      expire: unexpected,
      listPush: unexpected,
      listRange: unexpected,
      listLength: unexpected,
      listRemove: unexpected,
      listPop: unexpected,
    },
    capture: unexpected,
    enqueueJob: unexpected,
    api: unexpected,
    log: (line) => void lines.push(line),
    metric: unexpected,
  };
}
