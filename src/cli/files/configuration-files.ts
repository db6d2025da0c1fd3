import { dirname, resolve } from 'node:path';
import type { ProjectRecord } from '../../wire/contract/projects.ts';
import type { ProjectApi, ServiceOptions } from '../api-options.ts';
import type { TrackingPlanBody } from '../../wire/contract/tracking-plan.ts';
import type { TrackingPlan } from '../../wire/tracking-plan/plan.ts';
import type { CommandProcess, Terminal } from '../terminal.ts';
import { cleanPath } from '../../plugins/packages/package-files.ts';
import { CommandError } from '../exit-codes.ts';
import { checkFile } from './check-file.ts';
import { configurationFileSchemaText } from './json-schema.ts';
import { makePlan, type MadePlan, type PlanInput } from './make-plan.ts';
import { sourceFiles } from './plan-plugins.ts';
import { readOwnRules, type ProjectRules } from './project-rules.ts';
import { invalidFile, readConfigurationFile, type ReadFile } from './read-file.ts';
import { createReferences } from './references.ts';
import {
  listPlugins,
  listProjects,
  patientApi,
  readProject,
  readTrackingPlan,
  rootOf,
  type PresentConfig,
  type PresentProject,
} from './target.ts';
import { Document, isNode } from 'yaml';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { PluginRecord } from '../../wire/contract/plugins.ts';
import { isGiven, ownValue } from '../../plugins/check-settings.ts';
import type { PluginField } from '../../plugins/fields.ts';
import { kebab } from '../../plugins/packages/slug.ts';
import { writeYaml } from '../write-yaml.ts';
import { families, familyKeys, type ConfigEntry, type ConfigurationFile } from './configuration-file.ts';

export { applyPlan } from './apply-plan.ts';
export { configurationFileJsonSchema } from './json-schema.ts';
export { isEmptyPlan } from './plan.ts';
export { planRecord, planSentence, showPlan } from './show-plan.ts';

/** Operations of the commands on configuration files, loaded together or not at all. */

interface PlanFileOptions extends Omit<ServiceOptions, 'project'> {
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
  if (problems.length > 0) throw invalidFile(read.messages(problems));
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

interface ValidFile {
  readonly notes: readonly string[];
  readonly projects: number;
  readonly configs: number;
}

/** Reads and checks a file without a service. Errors: invalidConfig with every problem, usage when the file cannot be read. */
export async function validateFile(path: string, stdin: CommandProcess['stdin']): Promise<ValidFile> {
  const read: ReadFile = await readConfigurationFile(path, stdin);
  const { problems, notes } = checkFile(read.file);
  if (problems.length > 0) throw invalidFile(read.messages(problems));
  const { projects } = read.file;
  const configs = projects.flatMap(({ transformations = [], import_apps: imports = [] }) => [
    ...transformations,
    ...imports,
  ]);
  return { notes: read.messages(notes), projects: projects.length, configs: configs.length };
}

export interface ExportOptions extends ServiceOptions {
  readonly allProjects?: boolean;
  readonly file?: string;
}

/** Exports projects; `beside` contains further files to write, by path relative to the exported one. Errors: CommandError. */
export async function exportConfiguration(
  options: ExportOptions,
  note: (line: string) => void,
): Promise<ExportedFile & { readonly beside: ReadonlyMap<string, string> }> {
  const api = patientApi(options, note);
  const plugins = await listPlugins(api);
  const chosen =
    options.allProjects === true ? await listProjects(api) : [await api.get<ProjectRecord>(`${api.root}/`)];
  const projects = [];
  for (const record of chosen) {
    const trackingPlan = await planToExport(api, record.id, note);
    const rules = await readOwnRules(api, rootOf(record.id));
    projects.push({ ...(await readProject(api, record, plugins)), rules, trackingPlan });
  }
  const beside = new Map<string, string>();
  const put = (path: string, text: string): void => {
    // The path comes from the service: nothing may be written above the folder.
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

/** `undefined` if the project has no tracking plan, or the key must not read it. */
async function planToExport(
  api: ProjectApi,
  projectId: number,
  note: (line: string) => void,
): Promise<TrackingPlan | undefined> {
  try {
    const { plan } = await readTrackingPlan(api, rootOf(projectId));
    const text = JSON.stringify(plan ?? null);
    if (JSON.stringify(JSON.parse(text)) === text) return plan;
    note('the tracking plan is not exported: YAML does not keep all digits of its numbers; use "millrace plan export"');
    return undefined;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    // A service of an earlier version has none.
    if (error.reason === 'notFound') return undefined;
    if (error.reason !== 'auth') throw error;
    note('the tracking plan is not exported: the key lacks the scope tracking_plan:read');
    return undefined;
  }
}

/** Name of the editor schema next to an exported file. */
const schemaFileName = 'millrace.schema.json';

interface ExportedProject extends PresentProject {
  readonly rules?: Partial<ProjectRules>;
  readonly trackingPlan?: TrackingPlan | undefined;
}

interface ExportedFile {
  /** YAML. */
  readonly text: string;
  /** Proposed variables for the secrets. */
  readonly variables: readonly string[];
  /** Paths of settings files, which the service does not export: the user must put them there. */
  readonly files: readonly string[];
}

/** Exports the state of the service as a file that apply restores. Secrets become references. */
export function exportFile(
  projects: readonly ExportedProject[],
  plugins: readonly PluginRecord[],
  sources: ReadonlyMap<string, string>,
): ExportedFile {
  const names = createNames();
  const file: ConfigurationFile = {
    version: 1,
    ...pluginEntries(projects, plugins, sources),
    projects: projects.map(({ name, timezone, rules, configs, trackingPlan }) => ({
      name,
      timezone,
      ...rules,
      ...Object.fromEntries(
        families.map((family) => [
          familyKeys[family],
          configs[family].map((config) => configEntry(config, plugins, names)),
        ]),
      ),
      // Sound: the file has the form of the API, whose lists are not readonly.
      ...(trackingPlan !== undefined && { tracking_plan: trackingPlan as TrackingPlanBody }),
    })),
  };
  return { text: textOf(file), variables: names.variables, files: names.files };
}

/** Returns the installed plugins that configs use. */
function usedPlugins(projects: readonly PresentProject[], plugins: readonly PluginRecord[]): PluginRecord[] {
  const used = new Set(
    projects.flatMap(({ configs }) => families.flatMap((family) => configs[family]).map(({ plugin }) => plugin)),
  );
  return plugins.filter(({ slug, is_built_in: isBuiltIn }) => !isBuiltIn && used.has(slug));
}

function pluginEntries(
  projects: readonly PresentProject[],
  plugins: readonly PluginRecord[],
  sources: ReadonlyMap<string, string>,
): Pick<ConfigurationFile, 'plugins'> {
  const entries = usedPlugins(projects, plugins).map(({ slug, source_url: url }): [string, { source?: string }] => {
    const source = sources.get(slug) ?? url;
    return [slug, source === null ? {} : { source }];
  });
  return entries.length === 0 ? {} : { plugins: Object.fromEntries(entries) };
}

function configEntry(config: PresentConfig, plugins: readonly PluginRecord[], names: Names): ConfigEntry {
  const { plugin, name, enabled, description, version } = config;
  const latest = plugins.find(({ slug }) => slug === plugin)?.version;
  const settings = Object.fromEntries(
    config.fields.flatMap((field): [string, JsonValue][] => {
      const value = ownValue(config.settings, field.key);
      return value === undefined || !isGiven(value) ? [] : [[field.key, settingEntry(config, field, value, names)]];
    }),
  );
  return {
    plugin,
    name,
    ...(version !== latest && { version }),
    enabled,
    ...(description !== config.pluginDescription && { description }),
    ...(Object.keys(settings).length > 0 && { settings }),
    ...(config.schedule !== null && { schedule: config.schedule }),
  };
}

function settingEntry({ name }: PresentConfig, field: PluginField, value: JsonValue, names: Names): JsonValue {
  if (field.type === 'attachment') {
    const shown = field.secret === true ? field.key : String((value as JsonObject)['name'] ?? field.key);
    return {
      file: names.file(
        `files/${kebab(name)}/${kebab(shown.replace(/\.[^.]*$/, ''))}${/\.\w+$/.exec(shown)?.[0] ?? ''}`,
      ),
    };
  }
  return field.secret === true ? { env: names.variable(`${name} ${field.key}`) } : value;
}

/** Unique names for values that are not in the file. */
interface Names {
  readonly variables: string[];
  readonly files: string[];
  variable(words: string): string;
  file(path: string): string;
}

function createNames(): Names {
  const variables: string[] = [];
  const files: string[] = [];
  const free = (taken: string[], name: string, numbered: (number: number) => string): string => {
    let found = name;
    for (let number = 2; taken.includes(found); number += 1) found = numbered(number);
    taken.push(found);
    return found;
  };
  return {
    variables,
    files,
    variable(words) {
      const name = kebab(words).replaceAll('-', '_').toUpperCase();
      const legal = /^\d/.test(name) ? `_${name}` : name;
      return free(variables, legal, (number) => `${legal}_${number}`);
    },
    file: (path) => free(files, path, (number) => path.replace(/(\.\w+)?$/, `-${number}$1`)),
  };
}

function textOf(file: ConfigurationFile): string {
  const document = new Document(file);
  document.commentBefore =
    ` yaml-language-server: $schema=./${schemaFileName}\n` +
    ' Configuration of Millrace: "millrace diff" compares it with a service, "millrace apply" applies it.';
  for (const [slug, { source }] of Object.entries(file.plugins ?? {})) {
    const node = document.getIn(['plugins', slug], true);
    if (source !== undefined || !isNode(node)) continue;
    node.comment = ' installed from files: "millrace export --file" writes them next to this file';
  }
  return writeYaml(document);
}
