import type { ServiceOptions } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { findImport, listImports, registrationOf, type ImportDir } from './state-dir.ts';

export interface RegisteredRun {
  readonly id: string;
  /** Where the run is known. */
  readonly service: Pick<ServiceOptions, 'url' | 'project'>;
}

const wholeId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The run of an import that was begun on this machine, as its service knows it; or, by its whole id, of any machine, in the service
 * of the options. `run` undefined: the newest. Errors: notFound; usage, when no service knows the run.
 */
export async function registeredRun(
  { stateDir, url, project }: Pick<ServiceOptions, 'url' | 'project'> & { readonly stateDir: string },
  run: string | undefined,
): Promise<RegisteredRun> {
  const dir = await dirOf(stateDir, run);
  if (dir === undefined) {
    if (run !== undefined && wholeId.test(run)) return { id: run, service: { url, project } };
    throw new CommandError('notFound', `no import was begun in ${stateDir}; --config means those of a server`);
  }
  const service = await registrationOf(dir);
  if (service !== undefined) return { id: dir.id, service };
  throw new CommandError(
    'usage',
    `no service can undo import ${dir.id}: it was loaded without --api-key, or into another kind of service. Its events bear ` +
      `"$import_run_id": "${dir.id}" there`,
  );
}

async function dirOf(stateDir: string, run: string | undefined): Promise<ImportDir | undefined> {
  const all = await listImports(stateDir);
  if (run === undefined) return all.toSorted((left, right) => right.id.localeCompare(left.id))[0];
  return wholeId.test(run) && all.every(({ id }) => id !== run) ? undefined : findImport(stateDir, run);
}
