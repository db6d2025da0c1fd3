import { type ServiceOptions, pagesOf, projectApi } from '../api-options.ts';
import { findImport, listImports, registrationOf, type ImportDir, type Registration } from './state-dir.ts';
import type { ImportRunRecord } from '../../wire/contract/import-runs.ts';
import { CommandError } from '../exit-codes.ts';
import { getRun } from '../../imports/run/run-store.ts';
import { withStore } from './local-store.ts';

interface RegisteredRun {
  readonly id: string;
  /** The service that knows the run. */
  readonly service: Pick<ServiceOptions, 'url' | 'project'>;
}

const wholeId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Finds the run of a local import in its service, by default the newest; or, by its full id, a run of any machine in the service of the
 * options. Errors: notFound; usage, when no service knows the run.
 */
export async function registeredRun(
  { stateDir, url, project }: Pick<ServiceOptions, 'url' | 'project'> & { readonly stateDir: string },
  run: string | undefined,
): Promise<RegisteredRun> {
  const dir = await dirOf(stateDir, run);
  if (dir === undefined) {
    if (run !== undefined && wholeId.test(run)) return { id: run, service: { url, project } };
    throw new CommandError('notFound', `no import to undo in ${stateDir}; use --config for runs of a server`);
  }
  const service = await registrationOf(dir);
  if (service !== undefined) return { id: dir.id, service };
  throw new CommandError(
    'usage',
    `no service can undo import ${dir.id}: it was loaded without --api-key, or into another kind of service. There its events ` +
      `have "$import_run_id": "${dir.id}"`,
  );
}

async function dirOf(stateDir: string, run: string | undefined): Promise<ImportDir | undefined> {
  const all = await listImports(stateDir);
  if (run === undefined) return newestLoad(all);
  return wholeId.test(run) && all.every(({ id }) => id !== run) ? undefined : findImport(stateDir, run);
}

/** Returns the newest import, except those that only checked: there is nothing to undo. */
async function newestLoad(all: readonly ImportDir[]): Promise<ImportDir | undefined> {
  for (const dir of all.toSorted((left, right) => right.id.localeCompare(left.id))) {
    if ((await registrationOf(dir)) !== undefined) return dir;
    const run = await withStore(dir, (db) => getRun(db, dir.id));
    if (run?.options.last !== 'check') return dir;
  }
  return undefined;
}

interface UndoneRuns {
  readonly ids: ReadonlySet<string>;
  /** Services that could not be queried, each with the reason. */
  readonly unreachable: readonly string[];
}

/** Returns local runs that their service has undone, which only the service knows. */
export async function undoneRuns(stateDir: string, apiKey: string | undefined): Promise<UndoneRuns> {
  const dirs = await listImports(stateDir);
  const known = (await Promise.all(dirs.map(registrationOf))).filter((each) => each !== undefined);
  const services = new Map(known.map((each) => [`${each.url} ${each.project}`, each]));
  const answers = await Promise.all([...services.values()].map((service) => undoneIn(service, apiKey)));
  return {
    ids: new Set(answers.flatMap((answer) => (typeof answer === 'string' ? [] : answer))),
    unreachable: answers.filter((answer) => typeof answer === 'string'),
  };
}

const runsMax = 100_000;

/** Returns the undone runs of a service, or why it could not be queried. */
async function undoneIn(service: Registration, apiKey: string | undefined): Promise<readonly string[] | string> {
  if (apiKey === undefined) return `${service.url}: give --api-key`;
  const api = projectApi({ ...service, apiKey });
  try {
    const pages = pagesOf<ImportRunRecord>(api, `${api.root}/import_runs/`, { state: 'undone' }, runsMax);
    return (await Array.fromAsync(pages)).flat().map(({ id }) => id);
  } catch (error) {
    if (error instanceof CommandError) return `${service.url}: ${error.message}`;
    throw error;
  }
}
