import { fieldsOf } from '../../imports/run/run-settings.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';
import type { PluginField } from '../../plugins/fields.ts';
import type { Plugin } from '../../plugins/plugin.ts';
import { configurationFileSchema, families, familyKeys } from './configuration-file.ts';

/** Plain JSON Schema. */
interface Schema {
  readonly [keyword: string]: unknown;
}

/** Returns the editor schema: the file's schema with the settings of every built-in plugin. */
export function configurationFileJsonSchema(): Schema {
  // A JSON copy has no type information.
  const file = JSON.parse(JSON.stringify(configurationFileSchema)) as FileSchema;
  const plugins = builtInRegistry.list();
  const { projects } = file.properties;
  const project = { ...projects.items, properties: { ...projects.items.properties } };
  const config = projects.items.properties['transformations']?.['items'] as Schema;
  for (const family of families) {
    const list = project.properties[familyKeys[family]] ?? {};
    const items = configSchema(
      config,
      plugins.filter(({ kind }) => kind === family),
    );
    project.properties[familyKeys[family]] = { ...list, items };
  }
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Configuration file of Millrace',
    ...file,
    properties: { ...file.properties, projects: { ...projects, items: project } },
    definitions: {
      ...references,
      ...Object.fromEntries(plugins.map((plugin) => [plugin.slug, settingsSchema(plugin)])),
    },
  };
}

/** Returns the schema as text. */
export function configurationFileSchemaText(): string {
  return `${JSON.stringify(configurationFileJsonSchema(), null, 2)}\n`;
}

interface FileSchema extends Schema {
  readonly properties: Schema & {
    readonly projects: Schema & { readonly items: Schema & { readonly properties: Record<string, Schema> } };
  };
}

const references = {
  'env reference': {
    type: 'object',
    description: 'Value of an environment variable.',
    properties: { env: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*$' } },
    required: ['env'],
    additionalProperties: false,
  },
  'file reference': {
    type: 'object',
    description: 'Content of a file, relative to this one.',
    properties: { file: { type: 'string', minLength: 1 } },
    required: ['file'],
    additionalProperties: false,
  },
} as const;

const refersTo = (definition: string): Schema => ({ $ref: `#/definitions/${encodeURIComponent(definition)}` });
const anyReference = [refersTo('env reference'), refersTo('file reference')];

/** Builds `if` … `then` from key names: an object literal with `then` would be a thenable. */
function implies(condition: Schema, consequence: Schema): Schema {
  const keys = ['if', 'then'];
  return Object.fromEntries([condition, consequence].map((schema, index) => [keys[index], schema]));
}

/** Offers the slugs of built-in plugins and accepts others. */
function configSchema(config: Schema, plugins: readonly Plugin[]): Schema {
  const properties = config['properties'] as Readonly<Record<string, Schema>>;
  const slugs = plugins.map(({ slug }) => slug);
  return {
    ...config,
    properties: { ...properties, plugin: { ...properties['plugin'], anyOf: [{ enum: slugs }, {}] } },
    allOf: slugs.map((slug) =>
      implies(
        { properties: { plugin: { const: slug } }, required: ['plugin'] },
        { properties: { settings: refersTo(slug) } },
      ),
    ),
  };
}

function settingsSchema(plugin: Plugin): Schema {
  const fields = fieldsOf(plugin);
  return {
    type: 'object',
    title: plugin.name,
    description: plugin.description,
    properties: Object.fromEntries(fields.map((field) => [field.key, fieldSchema(field)])),
    additionalProperties: false,
  };
}

function fieldSchema(field: PluginField): Schema {
  const { name, hint, default: standard } = field;
  return {
    title: name,
    ...(hint !== undefined && { description: hint }),
    ...(standard !== undefined && { default: standard }),
    ...valueSchema(field),
  };
}

function valueSchema({ type, secret, choices = [], minimum, maximum }: PluginField): Schema {
  const nothing = { enum: [null, ''] };
  if (type === 'attachment') return { anyOf: [refersTo('file reference'), nothing] };
  if (secret === true) return { anyOf: [...anyReference, nothing] };
  switch (type) {
    case 'json':
      return {};
    case 'number': {
      const number = {
        type: 'number',
        ...(minimum !== undefined && { minimum }),
        ...(maximum !== undefined && { maximum }),
      };
      return { anyOf: [number, { type: 'string' }, ...anyReference, nothing] };
    }
    case 'boolean':
      return { anyOf: [{ enum: [true, false, 'true', 'false'] }, ...anyReference, nothing] };
    case 'choice': {
      const flags = choices.includes('true') ? [true, false] : [];
      return { anyOf: [{ enum: [...choices, ...flags] }, ...anyReference, nothing] };
    }
    case 'string':
    case 'text':
      return { anyOf: [{ type: 'string' }, ...anyReference, nothing] };
  }
}
