import { describe, expect, it } from 'vitest';
import { keepingSlugs } from '../../wire/contract/plugins.ts';
import { checkSettings, missingRequired, withDefaults } from '../check-settings.ts';
import type { TransformationHost } from '../host.ts';
import { notBuiltIn } from './not-built-in.ts';
import type { TransformationPlugin } from '../plugin.ts';
import { builtInPlugins, builtInRegistry } from './registry.ts';
import { testHost, testEvent } from '../../../test/support/transformation-host.ts';
import { trialHost } from '../trial-host.ts';

const transformations = builtInPlugins.filter((plugin) => plugin.kind === 'transformation');
/** Transformations that were published: those of the app repository, the built-in ones, and the templates that follow them. */
const published = `
  GeoIP, Advanced GeoIP, Currency Normalization, Downsampling Plugin, Drop Events Based On Property,
  Event Sequence Timer Plugin, Filter Out Plugin, First Time Event Tracker, Property Flattener Plugin,
  Language URL splitter, Email Scoring, Netdata event processing, Property Filter, Schema Enforcer,
  posthog-semver-flattener, Taxonomy Plugin, Timestamp Parser, Unduplicates, URL Normalizer,
  URL parameters to event properties, URL params parser, Route Censor, User Agent Populator,
  PostHog Anonymization, UTM Referrer, Stonly UTM Extractor, Stonly Clean Campaign Name,
  Shotgun Process Event App, Hello World, Secure Events, Device marketing names, Meta Ads click IDs, Typesafe,
  template-drop-events, template-event-filter, template-filter-properties, template-property-filter,
  template-remove-null-properties, template-geoip, template-ip-anonymization, template-field-anonymization,
  template-hash-properties, template-pii-hashing, template-url-masking, template-url-normalization,
  template-bot-detection, template-downsampling, template-flatten-properties, template-semver-flattener,
  template-remap-property-values, template-taxonomy, template-timestamp-parser,
  template-url-parameters-to-properties, template-user-agent`
  .split(',')
  .map((name) => name.trim());

const fields = builtInPlugins.flatMap(({ slug, fields: own }) => own.map((field) => ({ slug, field })));

/** What the examples look up. */
function exampleHost(): TransformationHost {
  return testHost({
    fetch: async ({ url }) => ({
      status: 200,
      statusText: 'OK',
      headers: {},
      body: Buffer.from('{"score": 0.8, "did_you_mean": ""}'),
      url,
    }),
  });
}

async function runExample({ fields: own, example, create }: TransformationPlugin): Promise<unknown> {
  const run = create(withDefaults(own, example.settings), exampleHost());
  const event = testEvent(example.before);
  const result = typeof run === 'function' ? run(event) : (await run.batch([event]))[0];
  if (result instanceof Error) throw result;
  return result && { event: result.event, distinct_id: result.distinct_id, properties: result.properties };
}

function repeated(names: readonly string[]): string[] {
  return names.filter((name, index) => names.indexOf(name) !== index);
}

describe('built-in plugins', () => {
  it('are found by their slugs; slugs and names are unique', () => {
    for (const plugin of builtInPlugins) expect(builtInRegistry.get(plugin.slug)).toBe(plugin);
    expect(builtInRegistry.get('constructor')).toBeUndefined();
    expect(repeated(builtInPlugins.map(({ slug }) => slug))).toEqual([]);
    expect(repeated(builtInPlugins.map(({ name }) => name.toLowerCase()))).toEqual([]);
  });

  it.each(builtInPlugins.map((plugin) => [plugin.slug, plugin] as const))('%s says what it is', (slug, plugin) => {
    expect(slug).toMatch(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/);
    expect(plugin.version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(plugin.description).toMatch(/^[A-Z].*\.$/);
    expect(plugin.name).toMatch(/^\S.*\S$/);
    expect(repeated(plugin.fields.map(({ key }) => key))).toEqual([]);
  });

  it('no published plugin is listed twice', () => {
    const known = transformations.flatMap(({ alsoKnownAs = [] }) => alsoKnownAs.map((name) => name.toLowerCase()));
    expect(repeated(known)).toEqual([]);
    const gone = new Set(notBuiltIn.map(({ name }) => name.toLowerCase()));
    expect(known.filter((name) => gone.has(name))).toEqual([]);
  });

  it.each(published)('%s is listed', (name) => {
    const wanted = name.toLowerCase();
    const found = transformations.filter(({ alsoKnownAs = [], name: own }) =>
      [own, ...alsoKnownAs].some((each) => each.toLowerCase() === wanted),
    );
    const without = notBuiltIn.filter((each) => each.name.toLowerCase() === wanted);
    expect(found.length + without.length).toBe(1);
  });

  it.each(fields.map(({ slug, field }) => [`${slug}: ${field.key}`, field] as const))(
    '%s has a hint, and a default that is a value of it',
    (_name, field) => {
      expect(field.name).not.toBe('');
      expect(field.hint ?? '').not.toBe('');
      expect(checkSettings([field], { [field.key]: field.default ?? null })).toEqual([]);
      expect(field.type === 'choice').toBe((field.choices?.length ?? 0) > 1);
      expect(field.secret === true && field.default !== undefined).toBe(false);
    },
  );
});

describe('the example of a transformation', () => {
  it.each(transformations.map((plugin) => [plugin.slug, plugin] as const))('%s holds', async (_slug, plugin) => {
    const { settings, after, before } = plugin.example;
    expect(checkSettings(plugin.fields, settings)).toEqual([]);
    expect(missingRequired(plugin.fields, settings)).toEqual([]);
    const unchanged = JSON.stringify(before);
    expect(await runExample(plugin)).toEqual(after);
    expect(JSON.stringify(plugin.example.before)).toBe(unchanged);
  });

  it.each(transformations.map((plugin) => [plugin.slug, plugin] as const))(
    '%s is created without visible effects',
    (_slug, plugin) => {
      const { geoip, geoipProblem } = exampleHost();
      const host = trialHost(new Map(), { geoip, geoipProblem });
      expect(() => plugin.create(withDefaults(plugin.fields, plugin.example.settings), host)).not.toThrow();
    },
  );
});

it('every built-in transformation that stores values between events is declared as such', () => {
  const keeping = transformations.filter((plugin) => {
    let asked = false;
    const host = new Proxy(exampleHost(), {
      get: (target, name): unknown => {
        asked ||= name === 'storage';
        return Reflect.get(target, name, target);
      },
    });
    plugin.create(withDefaults(plugin.fields, plugin.example.settings), host);
    return asked;
  });
  expect(keeping.map(({ slug }) => slug).toSorted()).toEqual([...keepingSlugs].toSorted());
});
