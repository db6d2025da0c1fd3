import type { Clock } from '../base/clock.ts';
import { ApiError, fieldErrors } from '../contract/errors.ts';
import { pluginConfigIdSchema } from '../contract/plugin-configs.ts';
import { familyPaths } from '../contract/plugins.ts';
import {
  chainTestResultSchema,
  chainTestSchema,
  configTestResultSchema,
  configTestSchema,
  type ChainTest,
  type ConfigTest,
} from '../contract/transformation-tests.ts';
import type { EventStore } from '../eventstore/eventstore.ts';
import { isoOfMicros } from '../eventstore/micros.ts';
import { listEvents } from '../eventstore/reads.ts';
import { apiRoute, type ApiReply, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import { checkScope } from '../http/auth.ts';
import type { Metadata } from '../metadata/database.ts';
import { shownName } from '../plugins/configs/config-record.ts';
import { attachedKeys, listConfigs, type StoredConfig } from '../plugins/configs/stored-config.ts';
import { checkSettings, isGiven } from '../plugins/check-settings.ts';
import type { SettingValues } from '../plugins/fields.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { readTrialEvent, TrialEventError, withoutMarkers, type TrialEvent } from '../transform/trial-event.ts';
import { toRunRecord, toTrialRecord } from '../transform/trial-record.ts';
import { runTrial, type TrialConfig, type TrialDeps } from '../transform/trial-run.ts';
import { fromStore } from './events.ts';
import { requireConfig } from './plugin-configs-deps.ts';

export interface TransformationTestDeps {
  readonly db: Metadata;
  readonly store: EventStore;
  readonly clock: Clock;
  readonly trials: TrialDeps;
}

const family = 'transformation';
const base = `/api/projects/:project_id/${familyPaths[family]}`;
const common = { method: 'POST', scope: 'plugin:write', tag: 'Transformation configs' } as const;
/** Tests at once; each may keep a plugin busy for as long as a task may take. */
const atOnceMax = 4;
const nothingLasts =
  'Nothing of it lasts: what it stores, captures and starts is shown and forgotten. Requests of a plugin to other ' +
  'servers are really made.';
const needsRead = 'Without `event` the key must also have the scope `query:read`.';

/** Trying transformations before they touch anything. */
export function transformationTestRoutes(deps: TransformationTestDeps): ApiRoute[] {
  const limited = atMost(atOnceMax);
  return [
    apiRoute({
      ...common,
      path: `${base}/:id/test`,
      summary: 'Test a transformation config',
      description: `Runs this config alone on the event, enabled or not. ${nothingLasts} ${needsRead}`,
      params: pluginConfigIdSchema,
      body: configTestSchema,
      responses: { 200: configTestResultSchema },
      handler: (request) => limited(() => testConfig(deps, request)),
    }),
    apiRoute({
      ...common,
      path: `${base}/test`,
      summary: 'Test the chain of transformations',
      description: `Runs the event through the configs, and shows it after each of them. ${nothingLasts} ${needsRead}`,
      body: chainTestSchema,
      responses: { 200: chainTestResultSchema },
      handler: (request) => limited(() => testChain(deps, request)),
    }),
  ];
}

async function testConfig(
  deps: TransformationTestDeps,
  request: ApiRequest<{ readonly id: number }, unknown, ConfigTest>,
): Promise<ApiReply> {
  const { body, params } = request;
  const at = { projectId: request.project().id, family, id: params.id, now: deps.clock.now() } as const;
  const stored = await requireConfig(deps.db, at);
  const config = toTrialConfig(stored, overridden(stored, (body.settings ?? {}) as SettingValues));
  const result = await runTrial(deps.trials, [config], await subjectOf(deps, request));
  const { before, after, outcome, steps } = result;
  const run = steps.map(toRunRecord)[0];
  const truncated = [...new Set([...result.truncated, ...(run?.truncated ?? [])])];
  return { status: 200, body: { before, after, outcome, ...run, truncated } };
}

async function testChain(
  deps: TransformationTestDeps,
  request: ApiRequest<unknown, unknown, ChainTest>,
): Promise<ApiReply> {
  const of = { projectId: request.project().id, family, now: deps.clock.now() } as const;
  const all = await listConfigs(deps.db, of);
  const configs = chosen(all, request.body);
  const result = await runTrial(deps.trials, configs, await subjectOf(deps, request));
  return { status: 200, body: toTrialRecord(result) };
}

/** @throws ApiError does_not_exist */
function chosen(configs: readonly StoredConfig[], body: ChainTest): readonly TrialConfig[] {
  const { config_ids: ids, include_disabled: all = false } = body;
  const toTry = (config: StoredConfig): TrialConfig => toTrialConfig(config, config.settings);
  // Those that only look on are no part of the chain.
  const isInChain = ({ isStep }: TrialConfig): boolean => isStep;
  if (ids === undefined) {
    return configs
      .filter(({ enabled }) => enabled || all)
      .map(toTry)
      .filter(isInChain);
  }
  const byId = new Map(configs.map((config) => [config.id, config]));
  const found = ids.flatMap((id) => byId.get(id) ?? []);
  if (found.length === ids.length) return found.map(toTry);
  const missing = ids.filter((id) => !byId.has(id)).join(', ');
  throw new ApiError('does_not_exist', `This project has no transformation config ${missing}.`, { attr: 'config_ids' });
}

/** @throws ApiError naming the settings that are refused */
function overridden({ plugin, settings }: StoredConfig, given: SettingValues): SettingValues {
  const [first, ...others] = checkSettings(plugin.fields, given);
  if (first !== undefined) throw fieldErrors([first, ...others]);
  return Object.fromEntries(Object.entries({ ...settings, ...given }).filter(([, value]) => isGiven(value)));
}

function toTrialConfig(config: StoredConfig, settings: SettingValues): TrialConfig {
  const { plugin } = config;
  return {
    id: config.id,
    name: shownName(config),
    projectId: config.projectId,
    slug: plugin.slug,
    pluginId: plugin.id,
    pluginName: plugin.name,
    pluginVersionId: plugin.versionId,
    fields: plugin.fields,
    settings,
    attached: attachedKeys(config),
    isStep:
      plugin.versionId === null || plugin.capabilities.methods.some((method) => method.startsWith('processEvent')),
  };
}

/** The event given, else the latest stored one that matches. */
async function subjectOf(
  { store, clock }: TransformationTestDeps,
  request: ApiRequest<unknown, unknown, ConfigTest | ChainTest>,
): Promise<TrialEvent> {
  const { event, match = {} } = request.body;
  if (event !== undefined) return givenEvent(event as JsonObject, clock.now());
  // Whoever may not read stored events is not shown one here either.
  checkScope(request.principal, 'query:read');
  const filter = { event: match.event, distinctId: match.distinct_id };
  const page = { limit: 1, nowMicros: BigInt(clock.now()) * 1000n };
  const { events } = await fromStore(() => listEvents(store, request.project().id, filter, page));
  const [found] = events;
  if (found === undefined) {
    const detail = 'There is no stored event that matches. Send one first, or give one as "event".';
    throw new ApiError('does_not_exist', detail, { attr: 'match' });
  }
  // Which configs it went through when it came in says nothing about this test.
  return withoutMarkers({
    uuid: found.uuid,
    event: found.event,
    distinct_id: found.distinctId,
    timestamp: isoOfMicros(found.timestampMicros),
    properties: JSON.parse(found.properties) as JsonObject,
  });
}

function givenEvent(event: JsonValue, now: number): TrialEvent {
  try {
    return readTrialEvent(event, now);
  } catch (cause) {
    if (!(cause instanceof TrialEventError)) throw cause;
    throw new ApiError('invalid_input', `${cause.message}.`, { attr: 'event', cause });
  }
}

/** Lets so many calls run at once; refuses more. */
function atMost(max: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  return async (work) => {
    if (running >= max) {
      const detail = `At most ${max} tests run at once. Try again when one has ended.`;
      throw new ApiError('throttled', detail, { headers: { 'Retry-After': '2' } });
    }
    running += 1;
    try {
      return await work();
    } finally {
      running -= 1;
    }
  };
}
