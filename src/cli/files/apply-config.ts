import type { PluginConfigRecord } from '../../wire/contract/plugin-configs.ts';
import type { Family, PluginRecord } from '../../wire/contract/plugins.ts';
import type { ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import type { Step } from './apply-plan.ts';
import type { Change } from './config-changes.ts';
import type { ConfigEntry } from './configuration-file.ts';
import type { ConfigPlan } from './plan.ts';
import type { References } from './references.ts';
import { wantedSchedule } from './schedule-of-file.ts';
import { settingsBody, settleSettings } from './settle-settings.ts';
import { configsPath, presentConfig } from './target.ts';

/** What the steps of a family work with. */
export interface ConfigWork {
  readonly api: ProjectApi;
  readonly family: Family;
  /** Path of the project, once it is there. */
  readonly root: () => string;
  /** Ids of configs, those made on the way included. */
  readonly ids: Map<ConfigPlan, number>;
  /** By slug, those installed on the way included. */
  readonly plugins: ReadonlyMap<string, PluginRecord>;
  readonly references: References;
  readonly keepSecrets: boolean;
}

/** Before the order is written, and behind it. */
interface Steps {
  readonly early: readonly Step[];
  readonly late: readonly Step[];
}

type Create = Extract<ConfigPlan, { readonly action: 'create' }>;
type Keep = Extract<ConfigPlan, { readonly action: 'keep' }>;

/** A new config takes part only once its settings are there and it has its place. */
export function createSteps(work: ConfigWork, plan: Create): Steps {
  const { api, family, ids, plugins } = work;
  const { entry, name } = plan;
  const title = `"${name}" (${entry.plugin})`;
  const create = async (): Promise<void> => {
    const plugin = plugins.get(entry.plugin);
    if (plugin === undefined) throw new CommandError('notFound', `plugin ${entry.plugin} is not installed`);
    const body = {
      plugin: plugin.id,
      enabled: false,
      // Without one it is called like its plugin, whose name is not always known when the plan is made.
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
    early: [{ words: `create ${title}`, run: create }],
    late: (entry.enabled ?? true) ? [{ words: `enable ${title}`, run: enable }] : [],
  };
}

/** The first call carries what the plan has seen: it is refused when somebody has changed the config since. */
export function changeSteps(work: ConfigWork, plan: Keep): Steps {
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
    early: others.length === 0 ? [] : [{ words: `change ${title}`, run: change }],
    late: enables ? [{ words: `enable ${title}`, run: enable }] : [],
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
  // Other code does not get the secrets that were given for the earlier one: they are given again.
  const isGivenAgain = has('version') && Object.keys(entry.settings ?? {}).length > 0;
  if (isGivenAgain || changes.some(({ field }) => field.startsWith('settings.'))) {
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

/** All of the settings at once: what is left out goes, but a secret stays. */
async function writeSettings(work: ConfigWork, plan: Create | Keep, ifMatch?: string): Promise<void> {
  const path = pathOf(work, plan);
  const fields = await currentFields(work, path, plan.entry);
  const settings = settleSettings(plan.entry, fields, work.references, work);
  await work.api.send('PUT', `${path}settings/`, settingsBody(settings), { ifMatch });
}

/** Of the version that the config runs now. */
async function currentFields({ api, family }: ConfigWork, path: string, { plugin }: ConfigEntry) {
  return presentConfig(await api.get<PluginConfigRecord>(path), family, plugin).fields;
}

function pathOf({ ids, family, root }: ConfigWork, plan: ConfigPlan): string {
  const id = ids.get(plan);
  if (id === undefined) throw new CommandError('failed', `"${plan.name}" was not made`);
  return `${configsPath(root(), family)}${id}/`;
}
