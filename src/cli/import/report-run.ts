import { setTimeout as sleep } from 'node:timers/promises';
import type { ImportRunRecord, ImportRunReport } from '../../wire/contract/import-runs.ts';
import type { ProjectRecord } from '../../wire/contract/projects.ts';
import { findFormat } from '../../imports/formats/registry.ts';
import { importName } from '../../wire/contract/import-name.ts';
import { toRunRecord } from '../../imports/run/run-record.ts';
import { cancelRun, pauseRun, RunTransitionError } from '../../imports/run/run-transitions.ts';
import type { Run } from '../../imports/run/run.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { createApiClient } from '../api-client.ts';
import { listAll, projectApi, type ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';
import { runIn } from './local-store.ts';
import { findSource } from './open-source.ts';
import type { ImportRequest } from './request.ts';
import { serverRuns } from './server-runs.ts';
import { commandOf, registrationOf, saveRegistration, type ImportDir } from './state-dir.ts';

/** Reports a run to the service that it loads into, which lists it as one of its runs. */
interface RunReports {
  /** Resolves when the service has received the outcome, or cannot be reached. */
  end(): Promise<void>;
}

interface ReportDeps {
  readonly terminal: Terminal;
  readonly db: Metadata;
  readonly dir: ImportDir;
  readonly request: ImportRequest;
}

const reportMs = 5_000;
const nameCharsMax = 400;
const scopes = 'plugin:write to be listed, import_undo:write to be undone';
/** Attempts at the last report. */
const endTries = 5;

/**
 * Registers the run with the service, if that is Millrace and a personal key was given, and reports it until it ends. Notes when it cannot
 * be undone later. Errors: CommandError failed, when the service has cancelled or undone the run.
 */
export async function reportRun(deps: ReportDeps): Promise<RunReports> {
  const { terminal, dir, request } = deps;
  const service = await findService(request);
  if (typeof service === 'string') {
    terminal.note(`this import cannot be undone later, and the service does not list it: ${service}`);
  }
  if (service === undefined || typeof service === 'string') return { end: async () => {} };
  const reporter = createReporter(deps, service);
  const begun = await reporter.begin();
  if (typeof begun === 'string') {
    terminal.note(`this import cannot be undone later, and the service does not list it: ${begun}`);
  }
  if (begun !== true) return { end: async () => {} };
  await saveRegistration(dir, { url: service.url, project: service.project });
  return reporter.follow();
}

/** Errors: CommandError failed, when the service has undone the run. */
export async function refuseUndone(dir: ImportDir, { apiKey }: ImportRequest): Promise<void> {
  const registration = await registrationOf(dir);
  if (registration === undefined || apiKey === undefined) return;
  const { state } = await serverRuns(projectApi({ ...registration, apiKey }), 0).find(dir.id);
  if (state !== 'undone') return;
  throw new CommandError('failed', `import ${dir.id} was undone; --again starts a new one`);
}

interface Service extends ProjectApi {
  /** Number of the project. */
  readonly project: string;
}

/** Returns the service, or why the run cannot be reported; `undefined` for another kind of service, or if nothing is sent. */
async function findService({ options, projectKey, apiKey }: ImportRequest): Promise<Service | string | undefined> {
  const { target, last } = options;
  if (target.kind !== 'http' || projectKey === undefined || last === 'check') return undefined;
  const api = createApiClient(target.url, apiKey);
  if (apiKey === undefined) return (await isMillrace(api)) ? `give --api-key, with the scopes ${scopes}` : undefined;
  try {
    const projects = await listAll<ProjectRecord>(api, '/api/projects/');
    const project = projects.find(({ api_token: token }) => token === projectKey)?.id;
    if (project === undefined) return 'the key given as --api-key has no access to the project';
    return { ...api, project: String(project), root: `/api/projects/${project}` };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return error.reason === 'auth' ? error.message : undefined;
  }
}

/** Recognises Millrace by its list of import runs, which requires a key. */
async function isMillrace(api: ReturnType<typeof createApiClient>): Promise<boolean> {
  try {
    await api.get('/api/projects/@current/import_runs/', { limit: '1' });
    return true;
  } catch (error) {
    if (error instanceof CommandError) return error.reason === 'auth';
    throw error;
  }
}

function createReporter({ terminal, db, dir, request }: ReportDeps, service: Service) {
  const path = `${service.root}/import_runs/${dir.id}/`;
  const send = async (begin: boolean): Promise<ImportRunRecord> => {
    const run = await runIn(dir, db);
    return service.send<ImportRunRecord>(
      'PUT',
      path,
      await reportOf(db, run, { begin, command: await commandOf(dir), name: nameOf(request, run) }),
    );
  };
  return {
    /** Resolves to the reason of a refusal; false for another kind of service. */
    begin: async (): Promise<string | boolean> => {
      try {
        await send(true);
        return true;
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
        if (error.status === 409) throw new CommandError('failed', `${error.message} --again does`, { cause: error });
        return error.reason === 'notFound' ? false : error.message;
      }
    },
    follow: (): RunReports => {
      const stop = new AbortController();
      const done = followRun({ db, dir, send }, stop.signal);
      return {
        end: async () => {
          stop.abort();
          await done;
          if (!(await sendEnd(send))) terminal.note('failed to report the outcome of the import to the service');
        },
      };
    },
  };
}

interface Follow extends Pick<ReportDeps, 'db' | 'dir'> {
  readonly send: (begin: boolean) => Promise<ImportRunRecord>;
}

/** Reports until the signal is aborted, and applies what was requested at the service. */
async function followRun({ db, dir, send }: Follow, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(reportMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    // A failed report is made up for by the next one.
    const answer = await send(false).catch((error: unknown) => {
      if (error instanceof CommandError) return undefined;
      throw error;
    });
    if (answer !== undefined) await applyRequested(db, dir, answer);
  }
}

async function applyRequested(db: Metadata, { id }: ImportDir, { state }: ImportRunRecord): Promise<void> {
  try {
    if (state === 'paused') await pauseRun(db, id, 'paused from the service');
    if (state === 'cancelled' || state === 'undone') await cancelRun(db, id, Date.now());
  } catch (error) {
    // The run has just ended.
    if (!(error instanceof RunTransitionError)) throw error;
  }
}

async function sendEnd(send: Follow['send']): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    try {
      await send(false);
      return true;
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      if (error.reason !== 'unreachable' || tries === endTries) return false;
      await sleep(tries * 500);
    }
  }
}

/** Names the run as the console names an import. A directory or pattern has more files than the command names, once they are listed. */
function nameOf({ source, paths, options }: ImportRequest, { progress }: Run): string {
  const [first] = paths;
  const count = Math.max(paths.length, progress.export?.partsTotal ?? 0);
  const files = first === undefined ? undefined : { first, count };
  return importName(findSource(source).name, files, findFormat(options.format)?.name).slice(0, nameCharsMax);
}

async function reportOf(
  db: Metadata,
  run: Run,
  { begin, command, name }: { readonly begin: boolean; readonly command: string; readonly name: string },
): Promise<ImportRunReport> {
  const { state, source, stage, reason, options, stages, totals } = toRunRecord(run, Date.now());
  const days = await db
    .selectFrom('import_days')
    .select((eb) => [eb.fn.min<string | null>('day').as('first'), eb.fn.max<string | null>('day').as('last')])
    .where('run_id', '=', run.id)
    .executeTakeFirst();
  return {
    begin,
    command,
    name,
    days:
      days === undefined || days.first === null || days.last === null ? null : { first: days.first, last: days.last },
    run: {
      state: state === 'queued' || state === 'undone' ? 'running' : state,
      source,
      stage: stage === 'undo' ? 'report' : stage,
      reason,
      options,
      stages,
      totals,
    },
  };
}
