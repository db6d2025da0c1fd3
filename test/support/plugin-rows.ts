import type { PluginField } from '../../src/plugins/fields.ts';
import { definePlugin, SettingsError, type JobContext, type Plugin } from '../../src/plugins/plugin.ts';

/** One setting of every type. */
const fields: readonly PluginField[] = [
  { key: 'bucket', name: 'Bucket', type: 'string', required: true },
  { key: 'token', name: 'Token', type: 'string', secret: true },
  { key: 'region', name: 'Region', type: 'choice', choices: ['eu', 'us'], default: 'eu' },
  { key: 'table', name: 'Table', type: 'json' },
  { key: 'map', name: 'Map', type: 'attachment' },
  { key: 'key_file', name: 'Key file', type: 'attachment', secret: true },
];

/** Refuses one bucket, repeating the secret as a careless plugin might. */
export const markTransformation = definePlugin({
  slug: 'test-mark',
  kind: 'transformation',
  name: 'Mark',
  description: 'Marks events.',
  version: '1.0.0',
  fields,
  example: {
    settings: { bucket: 'b' },
    before: { event: 'e', distinct_id: 'd', properties: {} },
    after: { event: 'e', distinct_id: 'd', properties: { marked: true } },
  },
  create(settings) {
    if (settings['bucket'] === 'closed') throw new SettingsError(`bucket is closed for ${String(settings['token'])}`);
    return (event) => {
      event.properties['marked'] = true;
      return event;
    };
  },
});

export function fetchImport(run: (context: JobContext) => Promise<void> = async () => undefined) {
  return definePlugin({
    slug: 'test-fetch',
    kind: 'import-app',
    name: 'Fetch',
    description: 'Fetches events.',
    version: '1.0.0',
    fields,
    jobs: { run: { description: 'Fetches.', run }, again: { description: 'Fetches again.', run } },
  });
}

export const testPlugins: readonly Plugin[] = [markTransformation, fetchImport()];
