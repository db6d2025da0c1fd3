import { orNotFound } from '../../wire/contract/errors.ts';
import {
  importFormatIdSchema,
  importFormatListSchema,
  importFormatSchema,
} from '../../wire/contract/import-formats.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import type { Format, FormatOption } from '../../imports/formats/format.ts';
import { findFormat, formats } from '../../imports/formats/registry.ts';
import { isImportSource } from '../../plugins/plugin.ts';
import type { PluginRegistry } from '../../plugins/plugin-registry.ts';

const path = '/api/projects/:project_id/import_formats';
const common = { method: 'GET', scope: 'plugin:read', tag: 'Import formats' } as const;

/** Routes of import formats, for choosing one or editing its names. */
export function importFormatRoutes({ registry }: { readonly registry: Pick<PluginRegistry, 'list'> }): ApiRoute[] {
  const summaryOf = (format: Format) => ({ ...aboutFormat(format), sources: sourcesOf(registry, format) });
  return [
    apiRoute({
      ...common,
      path,
      summary: 'List import formats',
      responses: { 200: importFormatListSchema },
      handler: async () => ({ status: 200, body: { count: formats.length, results: formats.map(summaryOf) } }),
    }),
    apiRoute({
      ...common,
      path: `${path}/:slug`,
      summary: 'Retrieve an import format with its names and an example',
      params: importFormatIdSchema,
      responses: { 200: importFormatSchema },
      handler: async ({ params }) => {
        const format = orNotFound(findFormat(params.slug));
        return { status: 200, body: { ...summaryOf(format), names: format.names, example: format.example } };
      },
    }),
  ];
}

function aboutFormat({ slug, name, description, source, options }: Format) {
  return { slug, name, description, source, options: options.map(toOption) };
}

function toOption({ key, label, description, default: standard, choices, schema }: FormatOption) {
  return { key, label, description, default: standard ?? null, choices: choices ?? null, schema: schema ?? null };
}

function sourcesOf(registry: Pick<PluginRegistry, 'list'>, { slug }: Format): string[] {
  const sources = registry.list().filter(isImportSource);
  return sources.filter(({ formats: own }) => own.includes(slug)).map((source) => source.slug);
}
