import type { PluginField } from '../../src/plugins/fields.ts';
import type { Plugin } from '../../src/plugins/plugin.ts';
import { builtInPlugins } from '../../src/plugins/registry.ts';
import { code, json, page, table } from './markdown.ts';

export function pluginsPage(): string {
  const about =
    'The plugins that come with the program. `millrace configs create --family transformations --plugin <slug> ' +
    "--settings '{…}' --enabled` puts one to work; the examples are run by the tests.";
  return page('Plugins', about, ...builtInPlugins.flatMap(section));
}

function section(plugin: Plugin): string[] {
  const head = `## ${plugin.name}`;
  const facts = `${code(plugin.slug)}, ${plugin.kind}, version ${plugin.version}. ${plugin.description}`;
  const settings = table(['Setting', 'Type', 'Default', 'Meaning'], plugin.fields.map(fieldRow));
  return [
    head,
    facts,
    ...(plugin.fields.length > 0 ? [settings] : []),
    ...(plugin.kind === 'transformation' ? example(plugin) : jobs(plugin)),
  ];
}

function fieldRow(field: PluginField): string[] {
  const type = field.type === 'choice' ? (field.choices ?? []).map(code).join(', ') : field.type;
  const marks = [field.required === true ? 'required' : '', field.secret === true ? 'secret' : '']
    .filter(Boolean)
    .join(', ');
  const meaning = [field.name, field.hint ?? ''].filter(Boolean).join(': ');
  const byDefault =
    field.default === undefined
      ? ''
      : typeof field.default === 'string'
        ? field.default
        : JSON.stringify(field.default);
  return [code(field.key), marks === '' ? type : `${type} (${marks})`, code(byDefault), meaning];
}

function example({ example: { settings, before, after } }: Extract<Plugin, { kind: 'transformation' }>): string[] {
  const result = after === null ? ['drops the event.'] : ['gives', json(after)];
  return ['Example: with the settings', json(settings), 'the event', json(before), ...result];
}

function jobs(plugin: Extract<Plugin, { kind: 'import-app' }>): string[] {
  return [
    table(
      ['Job', 'What it does'],
      Object.entries(plugin.jobs).map(([name, { description }]) => [code(name), description]),
    ),
  ];
}
