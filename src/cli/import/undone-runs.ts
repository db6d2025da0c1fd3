import type { ImportRunRecord } from '../../wire/contract/import-runs.ts';
import { pagesOf, projectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { listImports, registrationOf, type Registration } from './state-dir.ts';

export interface UndoneRuns {
  readonly ids: ReadonlySet<string>;
  /** Services that know runs of this machine and could not be asked, each with the reason. */
  readonly unasked: readonly string[];
}

/** Runs begun on this machine that their service has undone since: only the service knows of it. */
export async function undoneRuns(stateDir: string, apiKey: string | undefined): Promise<UndoneRuns> {
  const dirs = await listImports(stateDir);
  const known = (await Promise.all(dirs.map(registrationOf))).filter((each) => each !== undefined);
  const services = new Map(known.map((each) => [`${each.url} ${each.project}`, each]));
  const answers = await Promise.all([...services.values()].map((service) => undoneIn(service, apiKey)));
  return {
    ids: new Set(answers.flatMap((answer) => (typeof answer === 'string' ? [] : answer))),
    unasked: answers.filter((answer) => typeof answer === 'string'),
  };
}

const runsMax = 100_000;

/** A text: why the service could not be asked. */
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
