import type { Family } from '../../wire/contract/plugins.ts';
import type { PlanChange } from '../../wire/tracking-plan/learn-plan.ts';
import type { TrackingPlan } from '../../wire/tracking-plan/plan.ts';
import type { Change } from './config-changes.ts';
import type { ConfigEntry } from './configuration-file.ts';
import type { RulesPlan } from './project-rules.ts';
import type { PresentConfig } from './target.ts';

/** What apply would do, in the order of the file. Contains no secrets. */
export interface Plan {
  readonly plugins: readonly PluginPlan[];
  readonly projects: readonly ProjectPlan[];
}

/** A plugin to install or upgrade. */
export interface PluginPlan {
  readonly slug: string;
  readonly source: string;
  /** `undefined` if it is not installed. */
  readonly present: { readonly id: number; readonly version: string; readonly source: string } | undefined;
}

export interface ProjectPlan {
  readonly name: string;
  /** `undefined` if it must be created. */
  readonly id: number | undefined;
  readonly changes: readonly Change[];
  /** Their changes are among `changes`. */
  readonly rules?: RulesPlan;
  readonly families: readonly FamilyPlan[];
  /** `undefined` if the file does not mention the tracking plan, or nothing in it changes. */
  readonly trackingPlan?: TrackingPlanPlan | undefined;
}

/** A change of the tracking plan. */
export interface TrackingPlanPlan {
  /** `undefined` to remove it. */
  readonly after: TrackingPlan | undefined;
  /** Version in the service that was compared; 0 without one. */
  readonly version: number;
  /** Of its policies. */
  readonly changes: readonly Change[];
  readonly events: readonly PlanChange[];
}

/** What happens to one config. */
export type ConfigPlan =
  | {
      readonly action: 'create';
      readonly entry: ConfigEntry;
      readonly name: string;
      readonly changes: readonly Change[];
    }
  | {
      /** Unchanged if there are no changes. */
      readonly action: 'keep';
      readonly entry: ConfigEntry;
      readonly name: string;
      readonly present: PresentConfig;
      readonly changes: readonly Change[];
      /** Settings that could not be compared and why. */
      readonly uncompared: readonly string[];
    }
  /** Not listed in the file: deleted or kept. */
  | { readonly action: 'bin' | 'leave'; readonly name: string; readonly present: PresentConfig };

export interface FamilyPlan {
  readonly family: Family;
  /** In their future order, deleted ones last. */
  readonly configs: readonly ConfigPlan[];
  /** Names of existing configs that change their position. */
  readonly moved: readonly string[];
  /** Whether the order must be written: a config moves, or a new one is not last. */
  readonly reorders: boolean;
}

/**
 * @param listed creates and keeps, in the order of the file
 * @param others configs that the file does not list
 * @param present configs in their present order
 */
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

/** Numbers of changes. */
interface PlanCounts {
  readonly create: number;
  readonly change: number;
  readonly bin: number;
  readonly move: number;
  /** Not listed in the file, and kept. */
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
      projects.filter(({ trackingPlan }) => trackingPlan !== undefined).length +
      count((config) => config.action === 'keep' && config.changes.length > 0),
    bin: count(({ action }) => action === 'bin'),
    move: families.flatMap(({ moved }) => moved).length,
    left: count(({ action }) => action === 'leave'),
    uncompared: configs.flatMap((config) => (config.action === 'keep' ? config.uncompared : [])).length,
  };
}

/** Tells whether apply would change nothing. */
export function isEmptyPlan(plan: Plan): boolean {
  const { create, change, bin, move } = countPlan(plan);
  return create + change + bin + move === 0;
}

/**
 * Returns the order of a family: listed values as listed; others stay behind the one they followed.
 * A value in both lists is the same object.
 */
export function wantedOrder<T>(listed: readonly T[], present: readonly T[]): T[] {
  const isListed = new Set(listed);
  const order = [...listed];
  for (const [index, each] of present.entries()) {
    if (isListed.has(each)) continue;
    const before = present[index - 1];
    order.splice(before === undefined ? 0 : order.indexOf(before) + 1, 0, each);
  }
  return order;
}

/** Returns the fewest values to move to turn `before` into `after`, which contain the same values. */
export function movedOf<T>(before: readonly T[], after: readonly T[]): T[] {
  const places = after.map((each) => before.indexOf(each));
  const stays = new Set(longestIncrease(places));
  return after.filter((_, index) => !stays.has(places[index] ?? -1));
}

/** Returns the longest increasing subsequence. */
function longestIncrease(numbers: readonly number[]): number[] {
  const best: number[][] = [];
  for (const number of numbers) {
    const longest = best
      .filter((run) => (run.at(-1) ?? -1) < number)
      .reduce<number[]>((a, b) => (b.length > a.length ? b : a), []);
    best.push([...longest, number]);
  }
  return best.reduce<number[]>((a, b) => (b.length > a.length ? b : a), []);
}
