/** Process of one preview or preflight: reads the beginning of a source, answers once, and is killed. */
import { previewRefusal, type PreviewAnswer } from '../api/preview-answer.ts';
import { previewBody } from '../api/import-preview-body.ts';
import { systemClock } from '../../base/clock.ts';
import { createFailpoint } from '../../base/failpoint.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';
import { isImportSource } from '../../plugins/plugin.ts';
import { openImportStaging, importDirs, freeStagingBytes, tablesBesideStaging } from './import-dirs.ts';
import { openPluginEnvironmentLate, outboundTrust } from './plugin-environment.ts';
import { connectionsPerThread, openEventStore, openMetadata } from './stores.ts';
import { openProcess } from './thread.ts';
import type { PreviewOrder } from '../api/import-runs-deps.ts';
import { previewSource, type SourcePreview } from '../../imports/preflight/preview-source.ts';
import { streamLoadedLate, fetchLoadedLate } from '../../plugins/outbound/load-late.ts';
import { openSourceOf, openTableSource, openImportSource, type SourceOwner } from './import-source.ts';
import { openImportTransform, type ImportTransformDeps } from './import-transform.ts';
import type { ServiceDeps } from './service-deps.ts';
import { findKeptOut } from '../../stores/metadata/kept-out-ids.ts';
import type { PreflightResult } from '../../wire/contract/import-preflight.ts';
import { assemblePreflight } from '../../imports/assemble.ts';
import type { ProbedTarget } from '../../imports/preflight/preflight-context.ts';
import { fieldWords } from '../../imports/run/advice-words.ts';
import type { RunPlan } from '../../imports/run/steering.ts';
import { createDiskQuota } from '../../imports/stages/export/disk-quota.ts';
import { outboundRequest } from '../../imports/targets/http-request.ts';
import { openHttpTarget } from '../../imports/targets/http-target.ts';
import type { OutboundFetch } from '../../plugins/outbound/outbound.ts';
import { freeStoreBytes, projectLimits } from './historical-limits.ts';

/** Maximum answer: records are truncated before, but one record may become any number of events. */
const answerCharsMax = 32 * 1024 * 1024;

const { settings, shared, log, serve } = await openProcess();
const clock = systemClock;
const { db } = await openMetadata(settings, log, connectionsPerThread(settings));
const staging = await openImportStaging(settings);
const failpoint = createFailpoint(settings.failAt, settings.allowFailpoints);
const place = openPluginEnvironmentLate(settings, { log, clock }).open;
/** Never aborted: the process is killed from outside. */
const { signal } = new AbortController();

serve({
  health: async () => ({ ok: true }),
  answers: {
    preview: ({ slug, ...order }: PreviewTask) =>
      answered(async () => {
        const source = builtInRegistry.get(slug);
        if (source === undefined || !isImportSource(source)) throw new Error(`expected an import source, got ${slug}`);
        const preview = createPreview({ db, clock, settings, staging, place });
        return previewBody(order.options.format, await preview({ ...order, source }, signal));
      }),
    preflight: (order: PreflightTask) =>
      answered(async () => {
        const store = await openEventStore(settings, shared.embedded);
        return await createPreflight({ db, clock, settings, store, staging, place })(order, signal);
      }),
  },
  stop: async () => undefined,
});

async function answered(work: () => Promise<object>): Promise<PreviewAnswer> {
  failpoint('import_preview');
  try {
    // As text, which keeps the digits of every number.
    const json = JSON.stringify(await work());
    if (json.length <= answerCharsMax) return { kind: 'found', json };
    const reason = `The answer is larger than ${answerCharsMax / 1024 ** 2} MB: request fewer records.`;
    return { kind: 'refused', reason };
  } catch (error) {
    const refusal = previewRefusal(error);
    if (refusal === undefined) throw error;
    return refusal;
  }
}

/** Time limit of a source's response in a preview. */
const answerMsMax = 10_000;

/** Task of a preview process. */
interface PreviewTask extends Omit<PreviewOrder, 'source'> {
  /** Slug of the source. */
  readonly slug: string;
  /** Removed when the process has ended. */
  readonly tempDir: string;
}

/** Returns a preview with its own connections, which are closed with it. Stages and sends nothing. */
function createPreview(
  deps: Pick<ServiceDeps, 'db' | 'clock' | 'settings' | 'staging'> & Pick<ImportTransformDeps, 'place'>,
): (order: PreviewOrder & Pick<PreviewTask, 'tempDir'>, signal: AbortSignal) => Promise<SourcePreview> {
  const { db, settings, clock, staging } = deps;
  const dirs = importDirs(settings);
  const trust = outboundTrust(settings);
  return async ({ projectId, source: plugin, settings: given, options, records, plan, keepsOut, tempDir }, signal) => {
    await using opened = new AsyncDisposableStack();
    const stream = streamLoadedLate({ ...trust, connectTimeoutMs: answerMsMax, idleMs: answerMsMax });
    opened.defer(() => stream.close());
    const places = { db, clock, dirs, staging, allow: trust.allow, stream, settings };
    const source = openSourceOf(places, { projectId, plugin, settings: given }, tempDir);
    opened.defer(async () => source.release?.());
    return await previewSource(
      {
        source,
        openTable: async (path) => openTableSource(places, projectId, tempDir, path),
        openTransform: openImportTransform(deps, projectId),
        plan,
        keptOut: keepsOut ? await findKeptOut(db, projectId) : undefined,
        eventBytesMax: settings.captureEventBytesMax,
        now: () => clock.now(),
      },
      options,
      { records, signal },
    );
  };
}

/** Time limit of requests, as a multiple of the preflight's, which ends them. */
const answerTimes = 2;
const answerBytesMax = 8 * 1024 * 1024;

interface PreflightOrder extends SourceOwner, RunPlan {}

/** Task of a preflight process. */
interface PreflightTask extends PreflightOrder {
  /** Removed when the process has ended. */
  readonly tempDir: string;
}

/** Returns a preflight with its own connections, which are closed with it. Stages and sends nothing. */
function createPreflight(
  deps: Pick<ServiceDeps, 'db' | 'clock' | 'settings' | 'store' | 'staging'> & Pick<ImportTransformDeps, 'place'>,
): (order: PreflightTask, signal: AbortSignal) => Promise<PreflightResult> {
  const { settings, staging, clock } = deps;
  const dirs = importDirs(settings);
  const trust = outboundTrust(settings);
  const answerMsMax = settings.importPreflightMs * answerTimes;
  const quota = createDiskQuota({
    staging,
    budgetBytes: settings.importDiskBudget,
    freeBytes: () => freeStagingBytes(dirs),
  });
  return async (order, signal) => {
    await using opened = new AsyncDisposableStack();
    const fetch = fetchLoadedLate({ ...trust, timeoutMs: answerMsMax, bytesMax: answerBytesMax });
    opened.defer(() => fetch.close());
    const stream = streamLoadedLate({ ...trust, connectTimeoutMs: answerMsMax, idleMs: answerMsMax });
    opened.defer(() => stream.close());
    const { target } = order.options;
    const preflight = assemblePreflight({
      staging,
      quota,
      clock,
      openSource: () => openImportSource({ ...deps, dirs, allow: trust.allow, stream }, order, order.tempDir),
      openTransform: openImportTransform(deps, order.projectId),
      openTarget: async () => openTarget(order, fetch),
      words: fieldWords,
      timeLimitMs: settings.importPreflightMs,
      storeFreeBytes: () => freeStoreBytes(settings),
      tablesBesideStaging: () => tablesBesideStaging(settings),
      ...(target.kind === 'project' ? projectLimits(deps, order.projectId) : {}),
    });
    return await preflight({ options: order.options, signal });
  };
}

/** `undefined` if there is no key to load with. */
function openTarget({ options, secrets, projectId }: PreflightOrder, fetch: OutboundFetch): ProbedTarget | undefined {
  if (options.target.kind === 'project') return { description: `project ${projectId}` };
  const { apiKey, personalApiKey } = secrets;
  if (apiKey === undefined) return undefined;
  const request = outboundRequest(fetch);
  return openHttpTarget({ url: options.target.url, apiKey, personalApiKey, runId: 'preflight', request });
}
