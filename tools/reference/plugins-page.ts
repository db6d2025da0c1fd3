import type { PluginField } from '../../src/plugins/fields.ts';
import { eventFilterKey } from '../../src/wire/contract/event-filter.ts';
import { fieldsOf } from '../../src/imports/run/run-settings.ts';
import { notBuiltIn } from '../../src/plugins/built-in/not-built-in.ts';
import type { Plugin } from '../../src/plugins/plugin.ts';
import { builtInPlugins } from '../../src/plugins/built-in/registry.ts';
import { code, json, page, table } from './markdown.ts';

const kinds: Readonly<Record<Plugin['kind'], string>> = {
  transformation: 'Transformations',
  'import-app': 'Import apps',
};
const families: Readonly<Record<Plugin['kind'], string>> = {
  transformation: 'transformations',
  'import-app': 'import-apps',
};

/** The index of all plugins. */
export function pluginsPage(): string {
  const about =
    'The plugins that come with the program. Each has a page with its settings and an example, which is run by the tests. ' +
    "`millrace configs create --family transformations --plugin <slug> --settings '{…}' --enabled` puts one to work. " +
    'Where a published plugin is known by another name, that is named too; its settings have the same keys. ' +
    'Every transformation also has the setting `$filter`: [which events it gets](../guides/transformations.md#run-a-transformation-for-some-events-only).';
  const left = [
    '## Without a built-in',
    'Published transformations that no built-in replaces.',
    table(
      ['Published', 'Why, and what to do'],
      notBuiltIn.map(({ name, reason }) => [name, prose(reason)]),
    ),
  ];
  return page('Plugins', about, ...Object.entries(kinds).flatMap(([kind, title]) => index(kind, title)), ...left);
}

/** One page per plugin, by path from the root. */
export const pluginPages: Readonly<Record<string, () => string>> = Object.fromEntries(
  builtInPlugins.map((plugin) => [`docs/reference/plugins/${plugin.slug}.md`, () => pluginPage(plugin)]),
);

function index(kind: string, title: string): string[] {
  const plugins = builtInPlugins.filter((plugin) => plugin.kind === kind);
  if (plugins.length === 0) return [];
  const rows = plugins
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en'))
    .map((plugin) => [
      `[${plugin.name}](plugins/${plugin.slug}.md)`,
      code(plugin.slug),
      prose(plugin.description),
      known(plugin).map(code).join(', '),
    ]);
  return [`## ${title}`, table(['Plugin', 'Slug', 'What it does', 'Also known as'], rows)];
}

function pluginPage(plugin: Plugin): string {
  const parts = [
    `${code(plugin.slug)}, ${plugin.kind === 'transformation' ? 'a transformation' : 'an import app'}, version ${plugin.version}.`,
    ...section('Settings', settings(fieldsOf(plugin).filter(({ key }) => key !== eventFilterKey))),
    ...(plugin.kind === 'transformation' ? example(plugin) : []),
    ...command(plugin),
    ...(plugin.kind === 'import-app' ? section('Jobs', jobs(plugin)) : []),
    ...section('Also known as', known(plugin).map(code).join(', ')),
    ...(plugin.kind === 'transformation'
      ? section('Differs from the published one', list(plugin.differences ?? []))
      : []),
    '[All plugins](../plugins.md)',
  ];
  return page(plugin.name, prose(plugin.description), ...parts);
}

function known(plugin: Plugin): readonly string[] {
  return plugin.kind === 'transformation' ? (plugin.alsoKnownAs ?? []) : [];
}

/** Nothing, when there is nothing to say. */
function section(title: string, text: string): string[] {
  return text === '' ? [] : [`## ${title}`, text];
}

function settings(fields: readonly PluginField[]): string {
  if (fields.length === 0) return '';
  return table(['Setting', 'Type', 'Default', 'Meaning'], fields.map(fieldRow));
}

function fieldRow(field: PluginField): string[] {
  const type = field.type === 'choice' ? (field.choices ?? []).map(code).join(', ') : field.type;
  const marks = [field.required === true ? 'required' : '', field.secret === true ? 'secret' : '']
    .filter(Boolean)
    .join(', ');
  const meaning = [field.name, field.hint ?? ''].filter(Boolean).join(': ');
  return [code(field.key), marks === '' ? type : `${type} (${marks})`, code(standard(field)), prose(meaning)];
}

function standard({ default: value }: PluginField): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function example({
  example: { settings: given, before, after },
}: Extract<Plugin, { kind: 'transformation' }>): string[] {
  const same = JSON.stringify(after) === JSON.stringify(before);
  const result =
    after === null ? ['is dropped.'] : same ? ['keeps its name and properties.'] : ['becomes', json(after)];
  const start = Object.keys(given).length === 0 ? ['Without any settings,'] : ['With the settings', json(given)];
  return ['## Example', ...start, 'the event', json(before), ...result];
}

function command(plugin: Plugin): string[] {
  const given = plugin.kind === 'transformation' ? plugin.example.settings : {};
  const text = JSON.stringify(given).replaceAll("'", String.raw`'\''`);
  const options = Object.keys(given).length === 0 ? '' : ` --settings '${text}'`;
  const line = `millrace configs create --family ${families[plugin.kind]} --plugin ${plugin.slug}${options} --enabled`;
  return ['## Put it to work', ['```sh', line, '```'].join('\n')];
}

function jobs(plugin: Extract<Plugin, { kind: 'import-app' }>): string {
  return table(
    ['Job', 'What it does'],
    Object.entries(plugin.jobs).map(([name, { description }]) => [code(name), prose(description)]),
  );
}

function list(items: readonly string[]): string {
  return items.map((item) => `- ${prose(item)}`).join('\n');
}

/** Text that means what it says: `a__b` is a name, not the start of something bold. What is in backticks stays. */
function prose(text: string): string {
  return text
    .split('`')
    .map((part, index) => (index % 2 === 0 ? part.replaceAll(/[_*<]/g, String.raw`\$&`) : part))
    .join('`');
}
