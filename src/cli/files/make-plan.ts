import type { Family, PluginRecord } from '../../wire/contract/plugins.ts';
import type { PluginField } from '../../plugins/fields.ts';
import { settingProblems, entriesOf, type PlacedEntry } from './check-file.ts';
import {
  fieldChanges,
  newSettings,
  scheduleChange,
  settingChanges,
  keysToCompare,
  type Change,
  type Compared,
} from './config-changes.ts';
import { families, familyKeys, type ConfigEntry, type ProjectEntry } from './configuration-file.ts';
import { planPlugins } from './plan-plugins.ts';
import { planRules } from './project-rules.ts';
import {
  planFamily,
  type ConfigPlan,
  type FamilyPlan,
  type Plan,
  type PluginPlan,
  type ProjectPlan,
  type TrackingPlanPlan,
} from './plan.ts';
import { planChanges } from '../../wire/tracking-plan/learn-plan.ts';
import { emptyPlan, readPlan } from '../../wire/tracking-plan/read-plan.ts';
import { invalidFile, type Problem, type ReadFile } from './read-file.ts';
import type { References } from './references.ts';
import { resolveSettings, unresolved, settingsBody, type Settings } from './resolve-settings.ts';
import {
  emptyConfigs,
  fieldsOfPlugin,
  listPlugins,
  listProjects,
  readProject,
  readTrackingPlan,
  rootOf,
  type PresentConfig,
  type PresentProject,
  configsPath,
} from './target.ts';
import type { ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';

export interface PlanInput {
  readonly api: ProjectApi;
  readonly read: ReadFile;
  /** Base of relative paths in the file. */
  readonly folder: string;
  readonly references: References;
  /** Project id or @current, instead of the name in the file. */
  readonly project: string | undefined;
  /** Whether to delete configs that the file does not list. */
  readonly prune: boolean;
  /** Whether to keep secrets that are set, without reading their references. */
  readonly keepSecrets: boolean;
}

export interface MadePlan {
  readonly plan: Plan;
  /** References without a value that apply needs, such as `transformations "Currency": variable RATES_KEY`. */
  readonly missing: readonly string[];
}

/** Compares the file with the service. Errors: invalidConfig with everything the service would refuse, and those of its calls. */
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
  if (problems.length > 0) throw invalidFile(read.messages(problems));
  return { plan: { plugins: pluginPlans, projects }, missing };
}

/** Context of planning one project, which collects the findings. */
interface Planner extends PlanInput {
  readonly plugins: readonly PluginRecord[];
  readonly pluginPlans: readonly PluginPlan[];
  /** `undefined` if the project must be created. */
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
      throw new CommandError('usage', `--project: expected one project in the file, got ${projects.length}`);
    }
    return [{ entry, id: (await api.get<{ readonly id: number }>(`${api.root}/`)).id }];
  }
  const found = await listProjects(api);
  return projects.map((entry) => {
    const [first, second] = found.filter(({ name }) => name === entry.name);
    if (second === undefined) return { entry, id: first?.id };
    const ids = `${first?.id} and ${second.id}`;
    throw new CommandError('usage', `projects ${ids} are both named "${entry.name}"; choose one with --project`);
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
  const rules = await planRules(planner.api, entry, present && rootOf(present.id));
  const zone = isOther
    ? [{ field: 'timezone', ...(present !== undefined && { before: present.timezone }), after: timezone }]
    : [];
  return {
    name: entry.name,
    id: present?.id,
    changes: [...zone, ...rules.changes],
    rules,
    families: plans,
    trackingPlan: await planTrackingPlan(planner.api, entry, present?.id),
  };
}

/** Compares the tracking plan of the file with that of the project. */
async function planTrackingPlan(
  api: ProjectApi,
  { tracking_plan: wanted }: ProjectEntry,
  projectId: number | undefined,
): Promise<TrackingPlanPlan | undefined> {
  if (wanted === undefined) return undefined;
  const none = { version: 0, plan: undefined };
  const { version, plan } = projectId === undefined ? none : await readTrackingPlan(api, rootOf(projectId));
  const after = wanted === null ? undefined : readPlan(wanted);
  if (JSON.stringify(plan) === JSON.stringify(after)) return undefined;
  const fields = ['policy', 'unplanned_events', 'unplanned_properties'] as const;
  const changes: Change[] = [];
  for (const field of fields) {
    const [before, now] = [plan?.[field], after?.[field]];
    if (before === now) continue;
    changes.push({ field, ...(before !== undefined && { before }), ...(now !== undefined && { after: now }) });
  }
  return { after, version, changes, events: planChanges(plan ?? emptyPlan, after ?? emptyPlan) };
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
  const settings = resolveSettings(entry, fields, planner.references, planner);
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
  const settings = resolveSettings(entry, fields ?? present.fields, planner.references, planner);
  const root = `/api/projects/${planner.present?.id}`;
  const { compared, reasons, needed } = await compareConfig(planner, settings, present, root);
  note(planner, placed, name, needed);
  const changes = [...fieldChanges(entry, present, { name, version }), ...settingChanges(settings, present, compared)];
  return { action: 'keep', entry, name, present, changes, uncompared: reasons };
}

function note({ missing }: Planner, { family }: PlacedEntry, name: string, places: readonly string[]): void {
  for (const place of places) missing.push(`${familyKeys[family]} "${name}": ${place}`);
}

/** Returns the version a config should run: for a plugin with a source in the file its latest one, which may not be installed yet. */
function wantedVersion({ pluginPlans, plugins, read }: Planner, { plugin, version }: ConfigEntry): string | undefined {
  if (version !== undefined) return version;
  const plan = pluginPlans.find(({ slug }) => slug === plugin);
  if (plan !== undefined) return `of ${plan.source}`;
  if (read.file.plugins?.[plugin]?.source === undefined) return undefined;
  return plugins.find(({ slug }) => slug === plugin)?.version;
}

/**
 * Checks an entry against the fields of its plugin and returns them; `undefined` if they are known only once the plugin is installed.
 *
 * @param present the config, if it keeps its version
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

interface ComparedConfig {
  readonly compared: Compared;
  /** What could not be compared and why, such as `token: variable TOKEN`. */
  readonly reasons: readonly string[];
  /** References without a value that apply needs. */
  readonly needed: readonly string[];
}

const nothing: Compared = { same: new Set(), different: new Set() };

/** Why a read-only key cannot compare secrets. */
const incomparableBecause: Readonly<Record<string, string>> = {
  auth: 'comparison needs a key with plugin:write',
  rateLimited: 'it was compared with too many values within an hour',
};

/**
 * Lets the service compare secrets and files. Errors: those of the call.
 *
 * @param root path of the project
 */
async function compareConfig(
  { api, keepSecrets }: { readonly api: ProjectApi; readonly keepSecrets: boolean },
  settings: Settings,
  present: PresentConfig,
  root: string,
): Promise<ComparedConfig> {
  const keys = new Set(keysToCompare(settings, present));
  const hasValue = (key: string): boolean => unresolved(only(settings, key)).length === 0;
  const reasons = [...keys]
    .filter((key) => !hasValue(key))
    .map((key) => `${key}: ${unresolved(only(settings, key)).join()}`);
  const kept = new Set([...settings.keys()].filter((key) => keepSecrets && keys.has(key)));
  const needed = [...settings.keys()].filter((key) => !kept.has(key)).flatMap((key) => unresolved(only(settings, key)));
  const sent = new Map([...settings].filter(([key]) => keys.has(key) && hasValue(key)));
  if (sent.size === 0) return { compared: nothing, reasons, needed };
  try {
    const path = `${configsPath(root, present.family)}${present.id}/settings/compare/`;
    const answer = await api.send<{ same: string[]; different: string[] }>('POST', path, settingsBody(sent));
    const compared = { same: new Set(answer.same), different: new Set(answer.different) };
    return { compared, reasons, needed };
  } catch (error) {
    const why = error instanceof CommandError ? incomparableBecause[error.reason] : undefined;
    if (why === undefined) throw error;
    const incomparable = [...sent.keys()].map((key) => `${key}: ${why}`);
    return { compared: nothing, reasons: [...reasons, ...incomparable], needed };
  }
}

function only(settings: Settings, key: string): Settings {
  const setting = settings.get(key);
  return setting === undefined ? new Map() : new Map([[key, setting]]);
}

interface Matched {
  /** The config of each entry; `undefined` if it must be created. */
  readonly present: readonly (PresentConfig | undefined)[];
  /** Configs without an entry. */
  readonly others: readonly PresentConfig[];
}

/**
 * Matches entries with configs of the same plugin and name, otherwise of the previous name. Among equals the first entry matches the first
 * config, and so on.
 *
 * @param nameOf returns the name of an entry, by default the plugin's
 */
export function matchConfigs(
  entries: readonly ConfigEntry[],
  configs: readonly PresentConfig[],
  nameOf: (entry: ConfigEntry) => string,
): Matched {
  const free = new Set(configs);
  const take = (plugin: string, name: string | undefined): PresentConfig | undefined => {
    const found = [...free].find((config) => config.plugin === plugin && config.name === name);
    if (found !== undefined) free.delete(found);
    return found;
  };
  const byName = entries.map((entry) => take(entry.plugin, nameOf(entry)));
  // Names first: a config that already has the new name is never matched by a previous name.
  const present = entries.map((entry, index) =>
    byName[index] === undefined && entry.previous_name !== undefined
      ? take(entry.plugin, entry.previous_name)
      : byName[index],
  );
  return { present, others: [...free] };
}
