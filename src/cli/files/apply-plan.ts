import type { PluginRecord, Family } from '../../wire/contract/plugins.ts';
import type { ProjectRecord } from '../../wire/contract/projects.ts';
import { packageBody } from '../package-body.ts';
import { familyKeys, type ConfigEntry } from './configuration-file.ts';
import { sourceIn } from './plan-plugins.ts';
import type { ConfigPlan, FamilyPlan, Plan, PluginPlan, ProjectPlan, TrackingPlanPlan } from './plan.ts';
import { configsPath, listPlugins, rootOf, wantedSchedule, presentConfig } from './target.ts';
import type { PluginConfigRecord } from '../../wire/contract/plugin-configs.ts';
import type { ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import type { Change } from './config-changes.ts';
import type { RulesPlan } from './project-rules.ts';
import type { References } from './references.ts';
import { settingsBody, resolveSettings } from './resolve-settings.ts';

/** One call, or a few related ones. */
export interface Step {
  /** Such as `create "Geo" (geoip)`, shown before and after the step. */
  readonly title: string;
  run(): Promise<void>;
}

interface ApplyInput {
  readonly api: ProjectApi;
  readonly references: References;
  readonly folder: string;
  readonly keepSecrets: boolean;
  /** Reports a completed step. */
  readonly note: (line: string) => void;
}

/**
 * Applies a plan step by step: plugins, projects, configs, their order. A new config is enabled only once it has its settings and its
 * position. Errors: those of the step that failed, with the steps completed and not completed.
 */
export async function applyPlan(input: ApplyInput, plan: Plan): Promise<void> {
  const plugins = new Map<string, PluginRecord>();
  const refresh = async (): Promise<void> => {
    for (const plugin of await listPlugins(input.api)) plugins.set(plugin.slug, plugin);
  };
  await refresh();
  const steps = [
    ...plan.plugins.map((each) => pluginStep(input, each, plugins)),
    ...plan.projects.flatMap((project) => projectSteps(input, project, plugins)),
  ];
  for (const [index, { title, run }] of steps.entries()) {
    try {
      await run();
    } catch (error) {
      throw stopped(error, title, { done: index, left: steps.slice(index + 1) });
    }
    input.note(title);
  }
}

function stopped(
  error: unknown,
  title: string,
  { done, left }: { readonly done: number; readonly left: readonly Step[] },
): CommandError {
  const cause = error instanceof Error ? error : new Error(String(error));
  const others = left.map((step) => `\n  not done: ${step.title}`).join('');
  const message = `${title}: ${cause.message}\n  ${done} done before, as listed above\n  not done: ${title}${others}`;
  return new CommandError(cause instanceof CommandError ? cause.reason : 'failed', message, { cause });
}

function pluginStep(
  { api, folder }: ApplyInput,
  { slug, source, present }: PluginPlan,
  plugins: Map<string, PluginRecord>,
): Step {
  return {
    title: present === undefined ? `install plugin ${slug}` : `update plugin ${slug}`,
    async run() {
      const body = await packageBody(sourceIn(folder, source));
      const root = `${api.root}/plugins/`;
      const record =
        present === undefined
          ? await api.send<PluginRecord>('POST', root, body)
          : await api.send<PluginRecord>('PATCH', `${root}${present.id}/`, body);
      if (record.slug !== slug) {
        throw new CommandError('failed', `it is installed as "${record.slug}"; use that name in the file`);
      }
      plugins.set(slug, record);
    },
  };
}

function projectSteps(
  input: ApplyInput,
  { name, id, changes, rules, families, trackingPlan }: ProjectPlan,
  plugins: ReadonlyMap<string, PluginRecord>,
): Step[] {
  const { api } = input;
  const timezone = changes.find(({ field }) => field === 'timezone')?.after;
  const project = { id };
  const root = (): string => rootOf(known(project.id, `project "${name}"`));
  const own: Step[] = [];
  if (id === undefined) {
    const create = async (): Promise<void> => {
      const body = { name, ...(timezone !== undefined && { timezone }) };
      project.id = (await api.send<ProjectRecord>('POST', '/api/projects/', body)).id;
    };
    own.push({ title: `create project "${name}"`, run: create });
  } else if (timezone !== undefined) {
    const run = async (): Promise<void> => void (await api.send('PATCH', `${rootOf(id)}/`, { timezone }));
    own.push({ title: `change the time zone of project "${name}"`, run });
  }
  const steps = families.flatMap((family) => familySteps({ ...input, plugins, root }, family));
  // After the transformations, which the plan describes the result of.
  const last = trackingPlan === undefined ? [] : [trackingPlanStep(api, name, root, trackingPlan)];
  return [...own, ...(rules === undefined ? [] : rulesSteps(api, name, root, rules)), ...steps, ...last];
}

function rulesSteps(api: ProjectApi, project: string, root: () => string, { retention, limits }: RulesPlan): Step[] {
  const steps: Step[] = [];
  if (retention !== undefined) {
    const run = async (): Promise<void> => {
      const { policy, expected } = retention;
      await api.send('PUT', `${root()}/retention/`, { ...policy, expected_events: expected });
    };
    steps.push({ title: `set the retention of project "${project}"`, run });
  }
  if (limits !== undefined) {
    const run = async (): Promise<void> => void (await api.send('PATCH', `${root()}/limits/`, limits));
    steps.push({ title: `set the limits of project "${project}"`, run });
  }
  return steps;
}

function trackingPlanStep(
  api: ProjectApi,
  project: string,
  root: () => string,
  { after, version }: TrackingPlanPlan,
): Step {
  return {
    title: `${after === undefined ? 'remove' : 'save'} the tracking plan of project "${project}"`,
    async run() {
      const path = `${root()}/tracking_plan/`;
      const more = { ifMatch: String(version) };
      if (after === undefined) await api.send('DELETE', path, undefined, more);
      else await api.send('PUT', path, after, more);
    },
  };
}

/** Returns the steps of a family: create, change and delete configs, then write the order, then enable configs. */
function familySteps(input: Omit<ConfigWork, 'ids' | 'family'>, plan: FamilyPlan): Step[] {
  const { family, configs, reorders } = plan;
  const work: ConfigWork = { ...input, family, ids: idsOf(configs) };
  const early: Step[] = [];
  const late: Step[] = [];
  for (const config of configs) {
    if (config.action === 'bin') early.push(binStep(work, config));
    if (config.action !== 'create' && config.action !== 'keep') continue;
    const steps = config.action === 'create' ? createSteps(work, config) : changeSteps(work, config);
    early.push(...steps.early);
    late.push(...steps.late);
  }
  return [...early, ...(reorders ? [orderStep(work, configs)] : []), ...late];
}

function idsOf(configs: readonly ConfigPlan[]): Map<ConfigPlan, number> {
  return new Map(configs.flatMap((config) => (config.action === 'create' ? [] : [[config, config.present.id]])));
}

function binStep(work: ConfigWork, config: Extract<ConfigPlan, { readonly action: 'bin' | 'leave' }>): Step {
  return {
    title: `delete "${config.name}" (${config.present.plugin})`,
    async run() {
      const path = `${configsPath(work.root(), work.family)}${config.present.id}/`;
      await work.api.send('PATCH', path, { deleted: true }, { ifMatch: config.present.updatedAt });
    },
  };
}

function orderStep({ api, family, ids, root }: ConfigWork, configs: readonly ConfigPlan[]): Step {
  const staying = configs.filter(({ action }) => action !== 'bin');
  return {
    title: `reorder the ${familyKeys[family]}`,
    async run() {
      const orders = Object.fromEntries(staying.map((config, order) => [known(ids.get(config), config.name), order]));
      await api.send<PluginConfigRecord>('PATCH', `${configsPath(root(), family)}rearrange/`, { orders });
    },
  };
}

function known(id: number | undefined, what: string): number {
  if (id === undefined) throw new CommandError('failed', `${what} has no id yet; this is a bug in Millrace`);
  return id;
}

/** What the steps of a family need. */
interface ConfigWork {
  readonly api: ProjectApi;
  readonly family: Family;
  /** Returns the path of the project once it exists. */
  readonly root: () => string;
  /** Ids of configs, including those that apply has created. */
  readonly ids: Map<ConfigPlan, number>;
  /** By slug, including those that apply has installed. */
  readonly plugins: ReadonlyMap<string, PluginRecord>;
  readonly references: References;
  readonly keepSecrets: boolean;
}

/** Steps before and after the order is written. */
interface Steps {
  readonly early: readonly Step[];
  readonly late: readonly Step[];
}

type Create = Extract<ConfigPlan, { readonly action: 'create' }>;
type Keep = Extract<ConfigPlan, { readonly action: 'keep' }>;

/** Returns the steps that create a config, which is enabled only once it has its settings and its position. */
function createSteps(work: ConfigWork, plan: Create): Steps {
  const { api, family, ids, plugins } = work;
  const { entry, name } = plan;
  const title = `"${name}" (${entry.plugin})`;
  const create = async (): Promise<void> => {
    const plugin = plugins.get(entry.plugin);
    if (plugin === undefined) throw new CommandError('notFound', `plugin ${entry.plugin} is not installed`);
    const body = {
      plugin: plugin.id,
      enabled: false,
      // The default is the plugin's name, which is not always known when the plan is made.
      ...(entry.name !== undefined && name !== plugin.name && { name }),
      ...(entry.description !== undefined && { description: entry.description }),
    };
    const made = await api.send<PluginConfigRecord>('POST', configsPath(work.root(), family), body);
    ids.set(plan, made.id);
    if (entry.version !== undefined && entry.version !== plugin.version) {
      await api.send('POST', `${pathOf(work, plan)}upgrade/`, { version: entry.version });
    }
    if (Object.keys(entry.settings ?? {}).length > 0) await writeSettings(work, plan);
    if (entry.schedule !== undefined && entry.schedule !== null) await writeSchedule(work, plan);
  };
  const enable = async (): Promise<void> => void (await api.send('PATCH', pathOf(work, plan), { enabled: true }));
  return {
    early: [{ title: `create ${title}`, run: create }],
    late: (entry.enabled ?? true) ? [{ title: `enable ${title}`, run: enable }] : [],
  };
}

/** Returns the steps that change a config. The first call names the version the plan has seen, and is refused if it has changed since. */
function changeSteps(work: ConfigWork, plan: Keep): Steps {
  const { changes, entry, name, present } = plan;
  const title = `"${name}" (${entry.plugin})`;
  const enables = changes.some(({ field, after }) => field === 'enabled' && after === true);
  const others = changes.filter(({ field, after }) => field !== 'enabled' || after !== true);
  const seen = { ifMatch: present.updatedAt };
  const change = (): Promise<void> => changeConfig(work, plan, others);
  const enable = async (): Promise<void> => {
    const more = others.length === 0 ? seen : {};
    await work.api.send('PATCH', pathOf(work, plan), { enabled: true }, more);
  };
  return {
    early: others.length === 0 ? [] : [{ title: `change ${title}`, run: change }],
    late: enables ? [{ title: `enable ${title}`, run: enable }] : [],
  };
}

async function changeConfig(work: ConfigWork, plan: Keep, changes: readonly Change[]): Promise<void> {
  const { entry, name, present } = plan;
  const path = pathOf(work, plan);
  const has = (field: string): boolean => changes.some((change) => change.field === field);
  let ifMatch: string | undefined = present.updatedAt;
  const send = async (method: 'PATCH' | 'POST', below: string, body: object): Promise<void> => {
    await work.api.send(method, `${path}${below}`, body, { ifMatch });
    ifMatch = undefined;
  };
  const fields = {
    ...(has('enabled') && { enabled: false }),
    ...(has('name') && { name }),
    ...(has('description') && { description: entry.description ?? '' }),
  };
  if (Object.keys(fields).length > 0) await send('PATCH', '', fields);
  if (has('version')) await send('POST', 'upgrade/', entry.version === undefined ? {} : { version: entry.version });
  // Secrets are not passed on to other code, so they are written again.
  const rewritesSettings = has('version') && Object.keys(entry.settings ?? {}).length > 0;
  if (rewritesSettings || changes.some(({ field }) => field.startsWith('settings.'))) {
    await writeSettings(work, plan, ifMatch);
  }
  if (has('schedule')) await writeSchedule(work, plan);
}

async function writeSchedule(work: ConfigWork, plan: Create | Keep): Promise<void> {
  const path = `${pathOf(work, plan)}schedule/`;
  const { schedule = null } = plan.entry;
  if (schedule === null) await work.api.send('DELETE', path);
  else await work.api.send('PUT', path, wantedSchedule(schedule));
}

/** Replaces all settings: missing ones are removed, except secrets. */
async function writeSettings(work: ConfigWork, plan: Create | Keep, ifMatch?: string): Promise<void> {
  const path = pathOf(work, plan);
  const fields = await currentFields(work, path, plan.entry);
  const settings = resolveSettings(plan.entry, fields, work.references, work);
  await work.api.send('PUT', `${path}settings/`, settingsBody(settings), { ifMatch });
}

/** Returns the fields of the version that the config runs now. */
async function currentFields({ api, family }: ConfigWork, path: string, { plugin }: ConfigEntry) {
  return presentConfig(await api.get<PluginConfigRecord>(path), family, plugin).fields;
}

function pathOf({ ids, family, root }: ConfigWork, plan: ConfigPlan): string {
  const id = ids.get(plan);
  if (id === undefined) throw new CommandError('failed', `"${plan.name}" was not created`);
  return `${configsPath(root(), family)}${id}/`;
}
