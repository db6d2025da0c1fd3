import { generateKeyPairSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { ApiError } from '../../wire/contract/errors.ts';
import type { StoredConfig } from '../../plugins/configs/stored-config.ts';
import type { JsonObject } from '../../base/json.ts';
import { isImportSource, type ImportSourcePlugin } from '../../plugins/plugin.ts';
import { builtInPlugins } from '../../plugins/built-in/registry.ts';
import { refuseSettings } from './steering.ts';

const sources = builtInPlugins.filter((plugin): plugin is ImportSourcePlugin => isImportSource(plugin));

function refusal(slug: string, settings: JsonObject): unknown {
  const source = sources.find((each) => each.slug === slug);
  if (source === undefined) throw new Error(`expected an import source ${slug}`);
  try {
    refuseSettings(source, { settings } as StoredConfig, Date.parse('2026-11-20'));
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { code: error.code, attr: error.attr };
  }
}

/** An example has no real key. */
const keyPair = generateKeyPairSync('rsa', { modulusLength: 2048 });
const privateKey = keyPair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const workingOf = (example: JsonObject): JsonObject =>
  'private_key' in example ? { ...example, private_key: privateKey } : example;

it.each(sources.map(({ slug, example }) => [slug, example]))('the example settings of %s pass', (slug, example) => {
  expect(refusal(slug, workingOf(example))).toBeUndefined();
});

it.each([
  ['files', { paths: '../secrets' }, 'paths'],
  ['urls', { urls: 'no address' }, 'urls'],
  ['s3', { bucket: 's3://a/b' }, 'bucket'],
  ['s3', { bucket: 'a-bucket', access_key_id: 'A' }, 'access_key_id'],
  ['posthog', { personal_api_key: 'phx_a', project_id: 'x', host: 'https://eu.posthog.com' }, 'project_id'],
  ['amplitude', { api_key: 'a', secret_key: 'b', region: 'mars' }, 'region'],
] as const)('%s with %j is refused, naming the setting', (slug, settings, key) => {
  expect(refusal(slug, settings)).toEqual({ code: 'invalid_input', attr: `settings.${key}` });
});
