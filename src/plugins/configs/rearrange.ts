import { ApiError } from '../../wire/contract/errors.ts';
import type { PluginConfigRearrange, PluginConfigUpdate } from '../../wire/contract/plugin-configs.ts';
import type { Family } from '../../wire/contract/plugins.ts';
import { saveChanges, type Work } from './save-changes.ts';
import { findConfig, listConfigs, type StoredConfig } from './stored-config.ts';
import { applyFields } from './update-config.ts';

/**
 * Moves one config (`id`, or the only one of `plugin`) or several (`orders`) and renumbers the family 0..n-1. Other given
 * fields are applied to the returned config. Configs in the bin have no position.
 */
export async function rearrange(work: Work, family: Family, body: PluginConfigRearrange): Promise<StoredConfig> {
  const all = await listConfigs(work.tx, { ...work, family });
  const { id, orders, order, plugin, ...rest } = body;
  const target = orders === undefined ? await targetOf(work, family, all, body) : firstOf(all, orders);
  // `plugin` identifies the config here, so it cannot also be a new value.
  const fields: PluginConfigUpdate = id !== undefined && plugin !== undefined ? { ...rest, plugin } : rest;
  const changed = await applyFields(work, target, fields);
  const wanted = new Map(Object.entries(orders ?? {}).map(([key, position]) => [Number(key), position]));
  if (orders === undefined && order !== undefined) wanted.set(target.id, order);
  const current = all.filter((config) => config.id !== target.id);
  if (!changed.deleted) current.push(changed);
  const placed = numbered(current.sort(byPosition), wanted);
  if (changed.deleted) placed.push(placedInBin(changed, order, placed.length));
  const before = new Map([...all, target].map((config) => [config.id, config]));
  const saved = await saveChanges(
    work,
    placed.map((after) => ({ before: before.get(after.id) ?? after, after })),
  );
  return saved.find((config) => config.id === target.id) ?? changed;
}

async function targetOf(
  work: Work,
  family: Family,
  all: readonly StoredConfig[],
  { id, plugin }: PluginConfigRearrange,
): Promise<StoredConfig> {
  if (id !== undefined) {
    const config = await findConfig(work.tx, { ...work, family, id });
    if (config !== undefined) return config;
    throw new ApiError('does_not_exist', `Invalid pk "${id}" - object does not exist.`, { attr: 'id' });
  }
  if (plugin === undefined) {
    throw new ApiError('required', 'Name the config to move by its "id" or "plugin", or several in "orders".', {
      attr: 'id',
    });
  }
  const [config, ...others] = all.filter((each) => each.plugin.id === plugin);
  if (config === undefined) {
    const detail = `Invalid pk "${plugin}" - no config of this family uses that plugin.`;
    throw new ApiError('does_not_exist', detail, { attr: 'plugin' });
  }
  if (others.length === 0) return config;
  const ids = [config, ...others].map((each) => each.id).join(', ');
  throw new ApiError('invalid_input', `Several configs use plugin ${plugin}: ${ids}. Select one by "id".`, {
    attr: 'plugin',
  });
}

/** Returns the named config that comes first afterwards; refuses unknown ones. */
function firstOf(all: readonly StoredConfig[], orders: Readonly<Record<string, number>>): StoredConfig {
  const known = new Map(all.map((config) => [String(config.id), config]));
  const unknown = Object.keys(orders).filter((key) => !known.has(key));
  if (unknown.length > 0) {
    const named = unknown.slice(0, 10).map((key) => `"${key.slice(0, 20)}"`);
    const detail = `Invalid pk ${named.join(', ')} - object does not exist in this family.`;
    throw new ApiError('does_not_exist', detail, { attr: 'orders' });
  }
  const [first] = Object.entries(orders).sort(([a, x], [b, y]) => x - y || Number(a) - Number(b));
  const config = first && known.get(first[0]);
  if (config !== undefined) return config;
  throw new ApiError('required', 'Expected at least one config: {"orders": {"<id>": <position>}}.', { attr: 'orders' });
}

/** Configs without a wanted position keep their order; wanted positions are limited to the list, lower ones placed first. */
function numbered(configs: readonly StoredConfig[], wanted: ReadonlyMap<number, number>): StoredConfig[] {
  const list = configs.filter((config) => !wanted.has(config.id));
  const movers = configs
    .flatMap((config) => {
      const position = wanted.get(config.id);
      return position === undefined ? [] : [{ config, position }];
    })
    .sort((a, b) => a.position - b.position || a.config.id - b.config.id);
  for (const { config, position } of movers) list.splice(Math.max(0, position), 0, config);
  return list.map(movedTo);
}

function movedTo(config: StoredConfig, position: number): StoredConfig {
  return { ...config, position };
}

function placedInBin(config: StoredConfig, order: number | undefined, count: number): StoredConfig {
  return order === undefined ? config : movedTo(config, Math.max(0, Math.min(order, count)));
}

function byPosition(a: StoredConfig, b: StoredConfig): number {
  return a.position - b.position || a.id - b.id;
}
