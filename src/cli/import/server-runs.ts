import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../base/retry.ts';
import type { PreflightResult } from '../../wire/contract/import-preflight.ts';
import type { ImportRunCreate, ImportRunRecord } from '../../wire/contract/import-runs.ts';
import type { CheckResult, UndoPlan, VerifyResult } from '../../imports/run/results.ts';
import type { ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { serverSentEvents } from '../server-sent-events.ts';
import { type ImportRuns, isFinal, type RunView, viewOfRecord } from './run-view.ts';

/** Runs of an import app config on a server. Errors: CommandError of the client. */
export interface ServerRuns extends ImportRuns {
  create(options: ImportRunCreate): Promise<RunView>;
  preflight(options: ImportRunCreate): Promise<PreflightResult>;
  /** Returns what undoing the run would do, without changes. */
  undoPlan(run: string): Promise<UndoPlan>;
  /** Undoes the run. */
  undo(run: string): Promise<RunView>;
}

const retriesMax = 10;

export function serverRuns(api: ProjectApi, config: number): ServerRuns {
  const root = `${api.root}/pipeline_import_apps_configs/${config}`;
  const path = (run: string, what = ''): string => `${root}/runs/${encodeURIComponent(run)}/${what}`;
  const list = async (): Promise<readonly RunView[]> => {
    const page = await api.get<{ results: ImportRunRecord[] }>(`${root}/runs/`, { limit: '100' });
    return page.results.map(viewOfRecord);
  };
  return {
    list,
    create: async (options) => viewOfRecord(await api.send<ImportRunRecord>('POST', `${root}/runs/`, options)),
    preflight: (options) => api.send<PreflightResult>('POST', `${root}/preflight/`, options),
    find: async (run) => {
      if (run !== undefined) return viewOfRecord(await api.get<ImportRunRecord>(path(run)));
      const [newest] = await list();
      if (newest !== undefined) return newest;
      throw new CommandError('notFound', `config ${config} has no run yet; start one with "millrace import start"`);
    },
    act: async (run, action, body = {}) =>
      viewOfRecord(await api.send<ImportRunRecord>('POST', path(run, `${action}/`), body)),
    verifyAgain: async (run) => viewOfRecord(await api.send<ImportRunRecord>('POST', path(run, 'verify/'), {})),
    undoPlan: (run) => api.send<UndoPlan>('POST', path(run, 'undo/'), { dry_run: true }),
    undo: async (run) => viewOfRecord(await api.send<ImportRunRecord>('POST', path(run, 'undo/'), {})),
    check: (run) => api.get<CheckResult>(path(run, 'check/')),
    verify: (run) => api.get<VerifyResult>(path(run, 'verify/')),
    report: (run, form, signal) =>
      bodyOf(api, path(run, `report/?format=${form}`), form === 'html' ? 'text/html' : 'application/json', signal),
    rejected: (run, signal) => bodyOf(api, path(run, 'rejected/'), 'application/x-ndjson', signal),
    steps: (run, signal) => followSteps(api, path(run, 'progress/'), signal),
  };
}

async function* bodyOf(api: ProjectApi, path: string, accept: string, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const { body } = await api.open(path, accept, signal);
  if (body !== null) yield* body;
}

/** Follows a run to its first final state. Reconnects a limited number of times in a row. */
async function* followSteps(api: ProjectApi, path: string, signal: AbortSignal): AsyncIterable<RunView> {
  for (let failures = 0; ; failures += 1) {
    try {
      const response = await api.open(path, 'text/event-stream', signal);
      for await (const { event, data } of serverSentEvents(response)) {
        failures = 0;
        if (event !== 'progress') continue;
        const view = viewOfRecord(JSON.parse(data) as ImportRunRecord);
        yield view;
        if (isFinal(view)) return;
      }
    } catch (error) {
      signal.throwIfAborted();
      const isLost = !(error instanceof CommandError) || ['unreachable', 'rateLimited'].includes(error.reason);
      if (!isLost || failures >= retriesMax) throw error;
    }
    await sleep(backoffMs(failures, 500, 15_000), undefined, { signal });
  }
}
