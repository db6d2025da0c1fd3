import type { Clock } from '../../base/clock.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { pluginConfigIdSchema } from '../../wire/contract/plugin-configs.ts';
import { familyPaths } from '../../wire/contract/plugins.ts';
import {
  chainTestResultSchema,
  chainTestSchema,
  configTestResultSchema,
  configTestSchema,
  type ChainTest,
  type ConfigTest,
  type DraftStep,
} from '../../wire/contract/transformation-tests.ts';
import type { EventStore } from '../../stores/events/eventstore.ts';
import { canonicalUuid } from '../../base/uuids.ts';
import { isoOfMicros } from '../../stores/events/micros.ts';
import { getEvent, listEvents, type StoredEvent } from '../../stores/events/reads.ts';
import { apiRoute, type ApiReply, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import { actorOf } from '../http/actor.ts';
import { checkScope } from '../http/auth.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { noteUse } from '../../plugins/configs/note-use.ts';
import { listConfigs, type StoredConfig } from '../../plugins/configs/stored-config.ts';
import { isRowId } from '../../plugins/configs/stored-plugin.ts';
import type { PrepareDeps } from '../../plugins/packages/prepare-plugin.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { findSample } from '../../pipeline/transform/sample-events.ts';
import {
  readTrialEvent,
  TrialEventError,
  withoutMarkers,
  type TrialEvent,
} from '../../pipeline/transform/trial-event.ts';
import { toRunRecord, toTrialRecord } from '../../pipeline/transform/trial-record.ts';
import { runTrial, type TrialDeps, type TrialResult } from '../../pipeline/transform/trial-run.ts';
import { atMost } from './at-most.ts';
import { fromStore } from './events.ts';
import { requireConfig } from './plugin-configs-deps.ts';
import { draftOfConfig, draftOfPlugin, inStep, type Draft } from './transformation-drafts.ts';

export interface TransformationTestDeps {
  readonly db: Metadata;
  readonly store: EventStore;
  readonly clock: Clock;
  readonly trials: TrialDeps;
  readonly packages: PrepareDeps;
}

const family = 'transformation';
const base = `/api/projects/:project_id/${familyPaths[family]}`;
const common = { method: 'POST', scope: 'plugin:write', tag: 'Transformation configs' } as const;
/** Concurrent tests; each may occupy a plugin for as long as a task may take. */
const atOnceMax = 4;
const nothingLasts =
  'Nothing is kept: what plugins store, capture and start is only shown. Requests of plugins to other servers are sent, unless ' +
  '`requests` refuses them. Stored secrets are used where none is given, but never for code that is not installed, of another ' +
  'source, or for another address; they are never returned, and the activity log records their use.';
const needsRead = 'Without `event` and `sample_id` the key also needs the scope `query:read`.';

/** Routes that test transformations without storing anything. */
export function transformationTestRoutes(deps: TransformationTestDeps): ApiRoute[] {
  const limited = atMost(atOnceMax);
  return [
    apiRoute({
      ...common,
      path: `${base}/:id/test`,
      summary: 'Test a transformation config',
      description: `Runs only this config on the event, enabled or not, as stored or with other settings, code or version. ${nothingLasts} ${needsRead}`,
      params: pluginConfigIdSchema,
      body: configTestSchema,
      responses: { 200: configTestResultSchema },
      handler: (request) => limited(() => testConfig(deps, request)),
    }),
    apiRoute({
      ...common,
      path: `${base}/test`,
      summary: 'Test the chain of transformations',
      description: `Runs the event through the configs, or through \`steps\` that are not saved yet, and shows it after each. ${nothingLasts} ${needsRead}`,
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
  const { id: projectId, organizationId } = request.project();
  const stored = await requireConfig(deps.db, { projectId, family, id: params.id, now: deps.clock.now() });
  const draft = await draftOfConfig(deps, { projectId, organizationId, index: 0 }, stored, body);
  await noteSecrets(deps, request, [draft]);
  const result = await runTrial(trialsOf(deps, body, [draft]), [draft.config], await subjectOf(deps, request));
  const { before, after, outcome, steps } = result;
  const run = steps.map(toRunRecord)[0];
  const truncated = [...new Set([...result.truncated, ...(run?.truncated ?? [])])];
  return { status: 200, body: { before, after, outcome, ...run, truncated } };
}

async function testChain(
  deps: TransformationTestDeps,
  request: ApiRequest<unknown, unknown, ChainTest>,
): Promise<ApiReply> {
  const chain = await chainOf(deps, request);
  await noteSecrets(deps, request, chain);
  const trials = trialsOf(deps, request.body, chain);
  const configs = chain.map(({ config }) => config);
  const result = await runTrial(trials, configs, await subjectOf(deps, request));
  return { status: 200, body: shownChain(result, chain) };
}

async function noteSecrets(
  { db, clock }: TransformationTestDeps,
  request: ApiRequest<unknown, unknown, unknown>,
  drafts: readonly Draft[],
): Promise<void> {
  const configs = drafts.flatMap(({ secretsOf }) => secretsOf ?? []);
  await noteUse({ tx: db, actor: actorOf(request), now: clock.now() }, configs, 'tested');
}

/** `places` are the positions of the steps in the request, by default in the order of the chain. */
export function shownChain(result: TrialResult, places: readonly { readonly index: number }[] = []) {
  const record = toTrialRecord(result);
  // Steps are in the order of the chain, each once, up to the one that drops the event.
  const steps = record.steps.map(({ config_id: id, ...step }, at) => ({
    config_id: id === 0 ? null : id,
    index: places[at]?.index ?? at,
    ...step,
  }));
  return { ...record, steps };
}

function trialsOf(
  { trials }: TransformationTestDeps,
  { requests }: ConfigTest | ChainTest,
  drafts: readonly Draft[],
): TrialDeps {
  const programs = new Map(drafts.map(({ config, program }) => [config.pluginVersionId, program]));
  return {
    ...trials,
    requestsRefused: requests === 'refused',
    loadProgram: async (versionId) => programs.get(versionId) ?? trials.loadProgram(versionId),
  };
}

type Chain = readonly (Draft & { readonly index: number })[];

/** Returns the chain to test, without excluded steps. @throws ApiError */
async function chainOf(deps: TransformationTestDeps, request: ApiRequest<unknown, unknown, ChainTest>): Promise<Chain> {
  const { id: projectId, organizationId } = request.project();
  const { steps, config_ids: ids, include_disabled: all = false } = request.body;
  const stored = await listConfigs(deps.db, { projectId, family, now: deps.clock.now() });
  const byId = new Map(stored.map((config) => [config.id, config]));
  const stepOf = async (step: DraftStep, index: number) => {
    const place = { projectId, organizationId, index };
    const config = step.config_id === undefined ? undefined : byId.get(step.config_id);
    const making =
      config === undefined ? draftOfPlugin(deps, place, step.plugin, step) : draftOfConfig(deps, place, config, step);
    return { ...(await inStep(index, making)), index };
  };
  if (steps !== undefined) {
    if (ids !== undefined) throw new ApiError('invalid_input', 'Expected "steps" or "config_ids", got: both.');
    requireNamed(steps);
    requireKnown(
      byId,
      steps.flatMap(({ config_id: id }) => id ?? []),
      'steps',
    );
    const wanted = steps.flatMap((step, index) => (step.enabled === false ? [] : [{ step, index }]));
    return inTurn(wanted, ({ step, index }) => stepOf(step, index));
  }
  const chosen = ids ?? stored.filter(({ enabled }) => enabled || all).map(({ id }) => id);
  requireKnown(byId, chosen, 'config_ids');
  const chain = await inTurn(chosen, (id, index) => stepOf({ config_id: id }, index));
  // Plugins that only observe events are not part of the chain, unless requested.
  return ids === undefined ? chain.filter(({ config }) => config.isStep) : chain;
}

/** Sequentially, since building programs takes memory. */
async function inTurn<T, R>(items: readonly T[], work: (item: T, index: number) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const [index, item] of items.entries()) results.push(await work(item, index));
  return results;
}

/** @throws ApiError required, invalid_input */
function requireNamed(steps: readonly DraftStep[]): void {
  for (const [index, { config_id: id, plugin, files }] of steps.entries()) {
    const attr = `steps__${index}`;
    if (id === undefined && plugin === undefined && files === undefined) {
      throw new ApiError('required', 'Expected "config_id", "plugin" or "files" in every step.', { attr });
    }
    if (id !== undefined && plugin !== undefined) {
      throw new ApiError('invalid_input', 'Expected "config_id" or "plugin" in a step, got: both.', { attr });
    }
  }
}

/** @throws ApiError does_not_exist */
function requireKnown(byId: ReadonlyMap<number, StoredConfig>, ids: readonly number[], attr: string): void {
  const missing = ids.filter((id) => !byId.has(id)).join(', ');
  if (missing === '') return;
  throw new ApiError('does_not_exist', `This project has no transformation config ${missing}.`, { attr });
}

/** The event given, else the stored one that is named, else the latest that matches. */
async function subjectOf(
  deps: TransformationTestDeps,
  request: ApiRequest<unknown, unknown, ConfigTest | ChainTest>,
): Promise<TrialEvent> {
  const { store, clock } = deps;
  const { event, event_id: uuid, sample_id: sampleId, match = {} } = request.body;
  if (event !== undefined) return givenEvent(event as JsonObject, clock.now());
  if (sampleId !== undefined) return sampleEvent(deps, request.project().id, sampleId);
  // Without permission to read stored events, none is shown here either.
  checkScope(request.principal, 'query:read');
  const project = request.project().id;
  if (uuid !== undefined) {
    const known = canonicalUuid(uuid);
    const named = known ? await fromStore(() => getEvent(store, project, known)) : undefined;
    if (named !== undefined) return storedEvent(named);
    throw new ApiError('does_not_exist', `There is no stored event "${uuid}".`, { attr: 'event_id' });
  }
  const filter = { event: match.event, distinctId: match.distinct_id };
  const page = { limit: 1, nowMicros: BigInt(clock.now()) * 1000n };
  const { events } = await fromStore(() => listEvents(store, project, filter, page));
  const [found] = events;
  if (found === undefined) {
    const detail = 'There is no stored event that matches. Send one first, or give one as "event".';
    throw new ApiError('does_not_exist', detail, { attr: 'match' });
  }
  return storedEvent(found);
}

/** @throws ApiError does_not_exist */
async function sampleEvent({ db, clock }: TransformationTestDeps, projectId: number, id: number): Promise<TrialEvent> {
  const sample = isRowId(id) ? await findSample(db, { projectId, id }) : undefined;
  if (sample !== undefined) return givenEvent(sample.event, clock.now());
  throw new ApiError('does_not_exist', `There is no sample event ${id}.`, { attr: 'sample_id' });
}

/** Which configs it went through when it came in says nothing about this test. */
function storedEvent(found: StoredEvent): TrialEvent {
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
