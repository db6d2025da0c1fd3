import type { Family, PluginRecord } from '../../wire/contract/plugins.ts';
import type { PluginField } from '../../plugins/fields.ts';
import type { ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { settingProblems } from './check-config.ts';
import { entriesOf, type PlacedEntry } from './check-file.ts';
import { compareConfig } from './compare-config.ts';
import { fieldChanges, newSettings, scheduleChange, settingChanges } from './config-changes.ts';
import { families, familyKeys, type ConfigEntry, type ProjectEntry } from './configuration-file.ts';
import { matchConfigs } from './match-configs.ts';
import { planPlugins } from './plan-plugins.ts';
import { planFamily, type ConfigPlan, type FamilyPlan, type Plan, type PluginPlan, type ProjectPlan } from './plan.ts';
import { invalidFile, type Problem, type ReadFile } from './read-file.ts';
import type { References } from './references.ts';
import { settleSettings, unresolved } from './settle-settings.ts';
import {
  emptyConfigs,
  fieldsOfPlugin,
  listPlugins,
  listProjects,
  readProject,
  type PresentConfig,
  type PresentProject,
} from './target.ts';

export interface PlanInput {
  readonly api: ProjectApi;
  readonly read: ReadFile;
  /** Where relative paths of the file begin. */
  readonly folder: string;
  readonly references: References;
  /** Instead of the project that has the name in the file: by number, or @current. */
  readonly project: string | undefined;
  /** What the file does not list goes into the bin. */
  readonly prune: boolean;
  /** Secrets are not looked for: those that are set stay. */
  readonly keepSecrets: boolean;
}

export interface MadePlan {
  readonly plan: Plan;
  /** `transformations "Currency": variable RATES_KEY`: what an apply needs and does not find. */
  readonly missing: readonly string[];
}

/** Compares the file with the service. Errors: invalidConfig with what the service would refuse, and those of its calls. */
export async function makePlan(input: PlanInput): Promise<MadePlan> {
  const { api, read, folder } = input;
  const chosen = await chooseProjects(input);
  const plugins = await listPlugins(api);
  const pluginPlans = await planPlugins(api, read.file, plugins, folder);
  const problems: Problem[] = [];
  const missing: string[] = [];
  const projects: ProjectPlan[] = [];
  for (const [index, { entry, id }] of chosen.entries()) {
    const present = id === undefined ? undefined : await readPresent(api, id, plugins);
    const planner = { ...input, plugins, pluginPlans, problems, missing, present };
    projects.push(await planProject(planner, entry, entriesOf(read.file, index)));
  }
  if (problems.length > 0) throw invalidFile(read.words(problems));
  return { plan: { plugins: pluginPlans, projects }, missing };
}

/** What planning of one project needs, and where it says what it finds. */
interface Planner extends PlanInput {
  readonly plugins: readonly PluginRecord[];
  readonly pluginPlans: readonly PluginPlan[];
  /** Undefined: it is still to be made. */
  readonly present: PresentProject | undefined;
  readonly problems: Problem[];
  readonly missing: string[];
}

interface ChosenProject {
  readonly entry: ProjectEntry;
  readonly id: number | undefined;
}

async function chooseProjects({ api, read, project }: PlanInput): Promise<ChosenProject[]> {
  const { projects } = read.file;
  if (project !== undefined) {
    const [entry, second] = projects;
    if (entry === undefined || second !== undefined) {
      throw new CommandError('usage', `--project: expected one project in the file, there are ${projects.length}`);
    }
    return [{ entry, id: (await api.get<{ readonly id: number }>(`${api.root}/`)).id }];
  }
  const found = await listProjects(api);
  return projects.map((entry) => {
    const [first, second] = found.filter(({ name }) => name === entry.name);
    if (second === undefined) return { entry, id: first?.id };
    const ids = `${first?.id} and ${second.id}`;
    throw new CommandError('usage', `projects ${ids} are both called "${entry.name}"; name one with --project`);
  });
}

async function readPresent(api: ProjectApi, id: number, plugins: readonly PluginRecord[]): Promise<PresentProject> {
  return readProject(api, await api.get(`/api/projects/${id}/`), plugins);
}

async function planProject(
  planner: Planner,
  entry: ProjectEntry,
  entries: readonly PlacedEntry[],
): Promise<ProjectPlan> {
  const { present } = planner;
  const { timezone } = entry;
  const isOther = timezone !== undefined && timezone !== (present?.timezone ?? 'UTC');
  const plans: FamilyPlan[] = [];
  for (const family of families) {
    if (entry[familyKeys[family]] === undefined) continue;
    const own = entries.filter((each) => each.family === family);
    plans.push(await planEntries(planner, family, own, (present?.configs ?? emptyConfigs())[family]));
  }
  return {
    name: entry.name,
    id: present?.id,
    changes: isOther
      ? [{ field: 'timezone', ...(present !== undefined && { before: present.timezone }), after: timezone }]
      : [],
    families: plans,
  };
}

async function planEntries(
  planner: Planner,
  family: Family,
  placed: readonly PlacedEntry[],
  configs: readonly PresentConfig[],
): Promise<FamilyPlan> {
  const nameOf = (entry: ConfigEntry): string =>
    entry.name ?? planner.plugins.find(({ slug }) => slug === entry.plugin)?.name ?? entry.plugin;
  const entries = placed.map(({ entry }) => entry);
  const { present, others } = matchConfigs(entries, configs, nameOf);
  const listed: ConfigPlan[] = [];
  for (const [index, each] of placed.entries()) {
    const config = present[index];
    const name = nameOf(each.entry);
    const plan = config === undefined ? planNew(planner, each, name) : await planKept(planner, each, name, config);
    listed.push(plan);
  }
  return planFamily(family, listed, others, configs, planner);
}

function planNew(planner: Planner, placed: PlacedEntry, name: string): ConfigPlan {
  const { entry } = placed;
  const fields = knownFields(planner, placed, undefined);
  const settings = settleSettings(entry, fields, planner.references, planner);
  note(planner, placed, name, unresolved(settings));
  const plain = [
    { field: 'enabled', after: entry.enabled ?? true },
    ...(entry.description === undefined ? [] : [{ field: 'description', after: entry.description }]),
    ...(entry.version === undefined ? [] : [{ field: 'version', after: entry.version }]),
  ];
  return {
    action: 'create',
    entry,
    name,
    changes: [...plain, ...newSettings(settings), ...scheduleChange(entry, null)],
  };
}

async function planKept(
  planner: Planner,
  placed: PlacedEntry,
  name: string,
  present: PresentConfig,
): Promise<ConfigPlan> {
  const { entry } = placed;
  const version = wantedVersion(planner, entry);
  const fields = knownFields(
    planner,
    placed,
    version === undefined || version === present.version ? present : undefined,
  );
  const settings = settleSettings(entry, fields ?? present.fields, planner.references, planner);
  const root = `/api/projects/${planner.present?.id}`;
  const { compared, reasons, needed } = await compareConfig(planner, settings, present, root);
  note(planner, placed, name, needed);
  const changes = [...fieldChanges(entry, present, { name, version }), ...settingChanges(settings, present, compared)];
  return { action: 'keep', entry, name, present, changes, uncompared: reasons };
}

function note({ missing }: Planner, { family }: PlacedEntry, name: string, places: readonly string[]): void {
  for (const place of places) missing.push(`${familyKeys[family]} "${name}": ${place}`);
}

/** Of an installed plugin that the file governs the latest version, which may be one that is still to come. */
function wantedVersion({ pluginPlans, plugins, read }: Planner, { plugin, version }: ConfigEntry): string | undefined {
  if (version !== undefined) return version;
  const plan = pluginPlans.find(({ slug }) => slug === plugin);
  if (plan !== undefined) return `of ${plan.source}`;
  if (read.file.plugins?.[plugin]?.source === undefined) return undefined;
  return plugins.find(({ slug }) => slug === plugin)?.version;
}

/**
 * The fields of the plugin, after checking the entry against them. `present`: the config whose version goes on. Undefined where
 * they are known only once the plugin is there.
 */
function knownFields(
  { plugins, pluginPlans, problems }: Planner,
  { family, entry, path }: PlacedEntry,
  present: PresentConfig | undefined,
): readonly PluginField[] | undefined {
  if (pluginPlans.some(({ slug }) => slug === entry.plugin)) return present?.fields;
  const plugin = plugins.find(({ slug }) => slug === entry.plugin);
  if (plugin === undefined) {
    const message = `"${entry.plugin}" is not installed: give it a source under plugins, or run "millrace plugins install"`;
    problems.push({ path: [...path, 'plugin'], message });
    return undefined;
  }
  if (!plugin.families.includes(family)) {
    const message = `is ${plugin.families.join(' and ') || 'neither a transformation nor an import app'} only`;
    problems.push({ path: [...path, 'plugin'], message });
    return undefined;
  }
  if (present === undefined && entry.version !== undefined && entry.version !== plugin.version) return undefined;
  const fields = present?.fields ?? fieldsOfPlugin(plugin);
  problems.push(...settingProblems(fields, entry, path));
  return fields;
}
