import { Document, isNode } from 'yaml';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { PluginRecord } from '../../wire/contract/plugins.ts';
import { isGiven, ownValue } from '../../plugins/check-settings.ts';
import type { PluginField } from '../../plugins/fields.ts';
import { kebab } from '../../plugins/packages/slug.ts';
import { writeYaml } from '../write-yaml.ts';
import { families, familyKeys, type ConfigEntry, type ConfigurationFile } from './configuration-file.ts';
import type { PresentConfig, PresentProject } from './target.ts';

/** Of the schema for editors, beside an exported file. */
export const schemaFileName = 'millrace.schema.json';

export interface ExportedFile {
  /** YAML. */
  readonly text: string;
  /** Variables that hold the secrets, as proposed. */
  readonly variables: readonly string[];
  /** Files of settings, which the service does not give away: they are to be put there. */
  readonly files: readonly string[];
}

/** What is in the service, as a file that an apply turns into the same again. Secrets become references. */
export function exportFile(
  projects: readonly PresentProject[],
  plugins: readonly PluginRecord[],
  sources: ReadonlyMap<string, string>,
): ExportedFile {
  const names = createNames();
  const file: ConfigurationFile = {
    version: 1,
    ...pluginEntries(projects, plugins, sources),
    projects: projects.map(({ name, timezone, configs }) => ({
      name,
      timezone,
      ...Object.fromEntries(
        families.map((family) => [
          familyKeys[family],
          configs[family].map((config) => configEntry(config, plugins, names)),
        ]),
      ),
    })),
  };
  return { text: textOf(file), variables: names.variables, files: names.files };
}

/** Installed plugins that a config uses. */
export function usedPlugins(projects: readonly PresentProject[], plugins: readonly PluginRecord[]): PluginRecord[] {
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

/** Names for what is not in the file, each given once. */
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
    ' What is set up in Millrace: "millrace diff" compares it with a service, "millrace apply" makes the service so.';
  for (const [slug, { source }] of Object.entries(file.plugins ?? {})) {
    const node = document.getIn(['plugins', slug], true);
    if (source !== undefined || !isNode(node)) continue;
    node.comment = ' sent from files: "millrace export --file" writes them beside this file';
  }
  return writeYaml(document);
}
