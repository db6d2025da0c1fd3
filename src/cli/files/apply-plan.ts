import type { PluginConfigRecord } from '../../wire/contract/plugin-configs.ts';
import type { PluginRecord } from '../../wire/contract/plugins.ts';
import type { ProjectRecord } from '../../wire/contract/projects.ts';
import type { ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { packageBody } from '../package-body.ts';
import { changeSteps, createSteps, type ConfigWork } from './apply-config.ts';
import { familyKeys } from './configuration-file.ts';
import { sourceIn } from './plan-plugins.ts';
import type { ConfigPlan, FamilyPlan, Plan, PluginPlan, ProjectPlan } from './plan.ts';
import type { References } from './references.ts';
import { configsPath, listPlugins, rootOf } from './target.ts';

/** One call, or a few that belong together. */
export interface Step {
  /** `create "Geo" (geoip)`: as a person is told, before and after. */
  readonly words: string;
  run(): Promise<void>;
}

export interface ApplyInput {
  readonly api: ProjectApi;
  readonly references: References;
  readonly folder: string;
  readonly keepSecrets: boolean;
  /** Says what is done. */
  readonly note: (line: string) => void;
}

/**
 * Does what the plan says, one step after the other: plugins, projects, configs, their order; what is new runs only once its
 * settings and its place are right. Errors: those of the step that failed, with what was done and what was not.
 */
export async function applyPlan(input: ApplyInput, plan: Plan): Promise<void> {
  const plugins = new Map<string, PluginRecord>();
  const learn = async (): Promise<void> => {
    for (const plugin of await listPlugins(input.api)) plugins.set(plugin.slug, plugin);
  };
  await learn();
  const steps = [
    ...plan.plugins.map((each) => pluginStep(input, each, plugins)),
    ...plan.projects.flatMap((project) => projectSteps(input, project, plugins)),
  ];
  for (const [index, { words, run }] of steps.entries()) {
    try {
      await run();
    } catch (error) {
      throw stopped(error, words, { done: index, left: steps.slice(index + 1) });
    }
    input.note(words);
  }
}

function stopped(
  error: unknown,
  words: string,
  { done, left }: { readonly done: number; readonly left: readonly Step[] },
): CommandError {
  const cause = error instanceof Error ? error : new Error(String(error));
  const others = left.map((step) => `\n  not done: ${step.words}`).join('');
  const message = `${words}: ${cause.message}\n  ${done} done before, as said above\n  not done: ${words}${others}`;
  return new CommandError(cause instanceof CommandError ? cause.reason : 'failed', message, { cause });
}

function pluginStep(
  { api, folder }: ApplyInput,
  { slug, source, present }: PluginPlan,
  plugins: Map<string, PluginRecord>,
): Step {
  return {
    words: present === undefined ? `install plugin ${slug}` : `update plugin ${slug}`,
    async run() {
      const body = await packageBody(sourceIn(folder, source));
      const root = `${api.root}/plugins/`;
      const record =
        present === undefined
          ? await api.send<PluginRecord>('POST', root, body)
          : await api.send<PluginRecord>('PATCH', `${root}${present.id}/`, body);
      if (record.slug !== slug) {
        throw new CommandError('failed', `it is installed as "${record.slug}"; call it so in the file`);
      }
      plugins.set(slug, record);
    },
  };
}

function projectSteps(
  input: ApplyInput,
  { name, id, changes, families }: ProjectPlan,
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
    own.push({ words: `create project "${name}"`, run: create });
  } else if (timezone !== undefined) {
    const run = async (): Promise<void> => void (await api.send('PATCH', `${rootOf(id)}/`, { timezone }));
    own.push({ words: `change the time zone of project "${name}"`, run });
  }
  return [...own, ...families.flatMap((family) => familySteps({ ...input, plugins, root }, family))];
}

/** What is made or changed, then what goes, then the order; what takes part from now on does so last. */
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
    words: `put "${config.name}" (${config.present.plugin}) into the bin`,
    async run() {
      const path = `${configsPath(work.root(), work.family)}${config.present.id}/`;
      await work.api.send('PATCH', path, { deleted: true }, { ifMatch: config.present.updatedAt });
    },
  };
}

function orderStep({ api, family, ids, root }: ConfigWork, configs: readonly ConfigPlan[]): Step {
  const staying = configs.filter(({ action }) => action !== 'bin');
  return {
    words: `put the ${familyKeys[family]} in order`,
    async run() {
      const orders = Object.fromEntries(staying.map((config, order) => [known(ids.get(config), config.name), order]));
      await api.send<PluginConfigRecord>('PATCH', `${configsPath(root(), family)}rearrange/`, { orders });
    },
  };
}

function known(id: number | undefined, what: string): number {
  if (id === undefined) throw new CommandError('failed', `${what} has no number yet; this is a fault of this program`);
  return id;
}
