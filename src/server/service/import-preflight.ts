/** The preflight of an import without its run: for whoever wants to know beforehand. */
import type { PreflightResult } from '../../wire/contract/import-preflight.ts';
import { assemblePreflight } from '../../imports/assemble.ts';
import type { ProbedTarget } from '../../imports/preflight/preflight-context.ts';
import { fieldWords } from '../../imports/run/advice-words.ts';
import type { RunPlan } from '../../imports/run/steering.ts';
import { createDiskQuota } from '../../imports/stages/export/disk-quota.ts';
import { outboundRequest } from '../../imports/targets/http-request.ts';
import { openHttpTarget } from '../../imports/targets/http-target.ts';
import { fetchLoadedLate, streamLoadedLate } from '../../plugins/outbound/load-late.ts';
import type { OutboundFetch } from '../../plugins/outbound/outbound.ts';
import { agreementFacts, freeStoreBytes } from './historical-limits.ts';
import { freeStagingBytes, importDirs, tablesBesideStaging } from './import-dirs.ts';
import { openImportSource, type SourceOwner } from './import-source.ts';
import { openImportTransform, type ImportTransformDeps } from './import-transform.ts';
import { outboundTrust } from './plugin-environment.ts';
import type { ServiceDeps } from './service-deps.ts';

/** Of the time of the preflight itself, which ends them. */
const answerTimes = 2;
const answerBytesMax = 8 * 1024 * 1024;

export interface PreflightOrder extends SourceOwner, RunPlan {}

/** What the process of a preflight is given. */
export interface PreflightTask extends PreflightOrder {
  /** Removed when the process has ended. */
  readonly tempDir: string;
}

/** Looks with connections of its own, which end with it; stages and sends nothing. */
export function createPreflight(
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
      ...(target.kind === 'project' ? { agreement: () => agreementFacts(deps, order.projectId) } : {}),
    });
    return await preflight({ options: order.options, signal });
  };
}

/** Undefined: there is no key to load with. */
function openTarget({ options, secrets, projectId }: PreflightOrder, fetch: OutboundFetch): ProbedTarget | undefined {
  if (options.target.kind === 'project') return { description: `project ${projectId}` };
  const { apiKey, personalApiKey } = secrets;
  if (apiKey === undefined) return undefined;
  const request = outboundRequest(fetch);
  return openHttpTarget({ url: options.target.url, apiKey, personalApiKey, runId: 'preflight', request });
}
