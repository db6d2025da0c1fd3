import type { Family } from '../../wire/contract/plugins.ts';
import type { Change } from './config-changes.ts';
import type { ConfigEntry } from './configuration-file.ts';
import { movedOf, wantedOrder } from './order-configs.ts';
import type { PresentConfig } from './target.ts';

/** What an apply would do, in the order of the file. Nothing in it is a secret. */
export interface Plan {
  readonly plugins: readonly PluginPlan[];
  readonly projects: readonly ProjectPlan[];
}

/** A plugin to install, or to take to another version. */
export interface PluginPlan {
  readonly slug: string;
  readonly source: string;
  /** Undefined: it is not installed. */
  readonly present: { readonly id: number; readonly version: string; readonly source: string } | undefined;
}

export interface ProjectPlan {
  readonly name: string;
  /** Undefined: it is to be made. */
  readonly id: number | undefined;
  readonly changes: readonly Change[];
  readonly families: readonly FamilyPlan[];
}

/** What becomes of one config. */
export type ConfigPlan =
  | {
      readonly action: 'create';
      readonly entry: ConfigEntry;
      readonly name: string;
      readonly changes: readonly Change[];
    }
  | {
      /** With no changes: as it is. */
      readonly action: 'keep';
      readonly entry: ConfigEntry;
      readonly name: string;
      readonly present: PresentConfig;
      readonly changes: readonly Change[];
      /** Settings that could not be compared, and why. */
      readonly uncompared: readonly string[];
    }
  /** Into the bin, or left alone: the file does not list it. */
  | { readonly action: 'bin' | 'leave'; readonly name: string; readonly present: PresentConfig };

export interface FamilyPlan {
  readonly family: Family;
  /** As they will stand, those for the bin last. */
  readonly configs: readonly ConfigPlan[];
  /** Names of those that change their place among the others that are there. */
  readonly moved: readonly string[];
  /** Whether the order has to be written: something moves, or something new is not last. */
  readonly reorders: boolean;
}

/** `listed`: creates and keeps in the order of the file; `others`: what the file does not list; `present`: as it stands. */
export function planFamily(
  family: Family,
  listed: readonly ConfigPlan[],
  others: readonly PresentConfig[],
  present: readonly PresentConfig[],
  { prune }: { readonly prune: boolean },
): FamilyPlan {
  const rest = others.map((config): ConfigPlan => ({
    action: prune ? 'bin' : 'leave',
    name: config.name,
    present: config,
  }));
  const byConfig = new Map(
    [...listed, ...rest].flatMap((plan) => (plan.action === 'create' ? [] : [[plan.present, plan]])),
  );
  const staying = present.flatMap((config) => {
    const plan = byConfig.get(config);
    return plan === undefined || plan.action === 'bin' ? [] : [plan];
  });
  const order = wantedOrder(listed, staying);
  const created = order.filter(({ action }) => action === 'create');
  const appended = [...staying, ...created];
  return {
    family,
    configs: [...order, ...rest.filter(({ action }) => action === 'bin')],
    moved: movedOf(
      staying,
      order.filter(({ action }) => action !== 'create'),
    ).map(({ name }) => name),
    reorders: order.some((plan, index) => plan !== appended[index]),
  };
}

/** What there is to do, counted. */
export interface PlanCounts {
  readonly create: number;
  readonly change: number;
  readonly bin: number;
  readonly move: number;
  /** Not listed in the file and left alone. */
  readonly left: number;
  /** Settings that could not be compared. */
  readonly uncompared: number;
}

export function countPlan({ plugins, projects }: Plan): PlanCounts {
  const families = projects.flatMap((project) => project.families);
  const configs = families.flatMap((family) => family.configs);
  const count = (test: (config: ConfigPlan) => boolean): number => configs.filter(test).length;
  return {
    create:
      plugins.filter(({ present }) => present === undefined).length +
      projects.filter(({ id }) => id === undefined).length +
      count(({ action }) => action === 'create'),
    change:
      plugins.filter(({ present }) => present !== undefined).length +
      projects.filter(({ id, changes }) => id !== undefined && changes.length > 0).length +
      count((config) => config.action === 'keep' && config.changes.length > 0),
    bin: count(({ action }) => action === 'bin'),
    move: families.flatMap(({ moved }) => moved).length,
    left: count(({ action }) => action === 'leave'),
    uncompared: configs.flatMap((config) => (config.action === 'keep' ? config.uncompared : [])).length,
  };
}

/** Whether an apply would change nothing. */
export function isEmptyPlan(plan: Plan): boolean {
  const { create, change, bin, move } = countPlan(plan);
  return create + change + bin + move === 0;
}
