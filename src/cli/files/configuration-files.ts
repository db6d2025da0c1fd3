import { dirname, resolve } from 'node:path';
import type { ProjectRecord } from '../../wire/contract/projects.ts';
import type { ServiceOptions } from '../api-options.ts';
import type { CommandProcess, Terminal } from '../terminal.ts';
import { cleanPath } from '../../plugins/packages/package-files.ts';
import { CommandError } from '../exit-codes.ts';
import { checkFile } from './check-file.ts';
import { exportFile, schemaFileName, usedPlugins, type ExportedFile } from './export-file.ts';
import { configurationFileSchemaText } from './json-schema.ts';
import { makePlan, type MadePlan, type PlanInput } from './make-plan.ts';
import { sourceFiles } from './plan-plugins.ts';
import { invalidFile, readConfigurationFile, type ReadFile } from './read-file.ts';
import { createReferences } from './references.ts';
import { listPlugins, listProjects, patientApi, readProject } from './target.ts';

export { applyPlan } from './apply-plan.ts';
export { configurationFileJsonSchema } from './json-schema.ts';
export { isEmptyPlan } from './plan.ts';
export { planRecord, planSentence, showPlan } from './show-plan.ts';

/** What the commands do with configuration files, so that they load all of it or nothing. */

export interface PlanFileOptions extends Omit<ServiceOptions, 'project'> {
  readonly file: string;
  readonly project?: string;
  readonly prune?: boolean;
  readonly keepSecrets?: boolean;
}

/** Reads and checks the file and compares it with the service. Errors: CommandError. */
export async function planFile(
  options: PlanFileOptions,
  terminal: Pick<Terminal, 'process' | 'note'>,
): Promise<MadePlan & { readonly input: PlanInput }> {
  const { stdin, env } = terminal.process;
  const read = await readConfigurationFile(options.file, stdin);
  const { problems } = checkFile(read.file);
  if (problems.length > 0) throw invalidFile(read.words(problems));
  const folder = options.file === '-' ? resolve('.') : dirname(resolve(options.file));
  const input: PlanInput = {
    api: patientApi({ ...options, project: options.project ?? '@current' }, terminal.note),
    read,
    folder,
    references: createReferences(env, folder),
    project: options.project,
    prune: options.prune === true,
    keepSecrets: options.keepSecrets === true,
  };
  return { ...(await makePlan(input)), input };
}

export interface ValidFile {
  readonly notes: readonly string[];
  readonly projects: number;
  readonly configs: number;
}

/** Errors: invalidConfig with every problem, usage when the file cannot be read. */
export async function validateFile(path: string, stdin: CommandProcess['stdin']): Promise<ValidFile> {
  const read: ReadFile = await readConfigurationFile(path, stdin);
  const { problems, notes } = checkFile(read.file);
  if (problems.length > 0) throw invalidFile(read.words(problems));
  const { projects } = read.file;
  const configs = projects.flatMap(({ transformations = [], import_apps: imports = [] }) => [
    ...transformations,
    ...imports,
  ]);
  return { notes: read.words(notes), projects: projects.length, configs: configs.length };
}

export interface ExportOptions extends ServiceOptions {
  readonly allProjects?: boolean;
  readonly file?: string;
}

/** `beside`: other files to write, by their path from the folder of the exported one. Errors: CommandError. */
export async function exportConfiguration(
  options: ExportOptions,
  note: (line: string) => void,
): Promise<ExportedFile & { readonly beside: ReadonlyMap<string, string> }> {
  const api = patientApi(options, note);
  const plugins = await listPlugins(api);
  const chosen =
    options.allProjects === true ? await listProjects(api) : [await api.get<ProjectRecord>(`${api.root}/`)];
  const projects = [];
  for (const record of chosen) projects.push(await readProject(api, record, plugins));
  const beside = new Map<string, string>();
  const put = (path: string, text: string): void => {
    // The service names it: nothing is written above the folder.
    const below = cleanPath(path);
    if (below === undefined)
      throw new CommandError('failed', `expected a path below a plugin, got: ${path.slice(0, 200)}`);
    beside.set(below, text);
  };
  const sources = new Map<string, string>();
  if (options.file !== undefined) {
    put(schemaFileName, configurationFileSchemaText());
    for (const plugin of usedPlugins(projects, plugins)) {
      if (plugin.source_url !== null) continue;
      sources.set(plugin.slug, `./plugins/${plugin.slug}`);
      const files = await sourceFiles(api, plugin);
      for (const [path, text] of Object.entries(files)) put(`plugins/${plugin.slug}/${path}`, text);
    }
  }
  return { ...exportFile(projects, plugins, sources), beside };
}
