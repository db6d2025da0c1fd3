import { Option, type Command } from 'commander';
import type { PluginConfigRecord } from '../../wire/contract/plugin-configs.ts';
import { addApiOptions, listAll, type ApiOptions, type ProjectApi } from '../api-options.ts';
import type { ApiQuery } from '../api-client.ts';
import { CommandError } from '../exit-codes.ts';

const paths = {
  transformations: 'pipeline_transformation_configs',
  'import-apps': 'pipeline_import_apps_configs',
} as const;

export type FamilyName = keyof typeof paths;
export const familyNames = Object.keys(paths) as readonly FamilyName[];

export interface ConfigOptions extends ApiOptions {
  /** Without it: both, or the one that the config belongs to. */
  readonly family?: FamilyName;
}

/** A config with the path of its record. */
interface FoundConfig {
  readonly record: PluginConfigRecord;
  /** `/api/projects/…/<id>/`, the prefix of paths. */
  readonly path: string;
}

/** Adds the options of commands about configs. `--family` is always optional, because ids are unique. */
export function onConfigs(command: Command): Command {
  return addApiOptions(
    command.addOption(new Option('--family <family>', 'only configs of this kind').choices(familyNames)),
  );
}

/** Adds the options and the id of one config. */
export function onConfig(command: Command): Command {
  return onConfigs(command.argument('<id>', 'number of the config'));
}

export function collectionOf(api: ProjectApi, family: FamilyName): string {
  return `${api.root}/${paths[family]}/`;
}

/** Finds a config by id. Errors: CommandError, such as notFound. */
export async function findConfig(api: ProjectApi, id: string, { family }: ConfigOptions): Promise<FoundConfig> {
  if (!/^\d{1,10}$/.test(id)) throw new CommandError('usage', `expected the number of a config, got: ${id}`);
  for (const each of family === undefined ? familyNames : [family]) {
    const path = `${collectionOf(api, each)}${id}/`;
    const record = await api.get<PluginConfigRecord>(path).catch(undefinedIfMissing);
    if (record !== undefined) return { record, path };
  }
  throw new CommandError('notFound', `no config ${id} in this project; "millrace configs list" shows them`);
}

/** Lists configs in their order, one family after the other. */
export async function listConfigs(
  api: ProjectApi,
  { family }: ConfigOptions,
  query: ApiQuery,
): Promise<(PluginConfigRecord & { readonly family: FamilyName })[]> {
  const found = (family === undefined ? familyNames : [family]).map(async (each) => {
    const records = await listAll<PluginConfigRecord>(api, collectionOf(api, each), query);
    return records.map((record) => Object.assign(record, { family: each }));
  });
  return (await Promise.all(found)).flat();
}

function undefinedIfMissing(error: unknown): undefined {
  if (error instanceof CommandError && error.reason === 'notFound') return undefined;
  throw error;
}
