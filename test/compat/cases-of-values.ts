import * as fc from 'fast-check';
import type { JsonValue } from '../../src/base/json.ts';
import { anonymise } from '../../src/plugins/transformations/anonymise.ts';
import { campaignCleaning } from '../../src/plugins/transformations/campaign-cleaning.ts';
import { currency } from '../../src/plugins/transformations/currency.ts';
import { deDuplicator } from '../../src/plugins/transformations/de-duplicator.ts';
import { downsampling } from '../../src/plugins/transformations/downsampling.ts';
import { dropEventsOnProperty } from '../../src/plugins/transformations/drop-events-on-property.ts';
import { emailScoring } from '../../src/plugins/transformations/email-scoring.ts';
import { filterOut } from '../../src/plugins/transformations/filter-out.ts';
import { filterProperties } from '../../src/plugins/transformations/filter-properties.ts';
import { firstTimeEvents } from '../../src/plugins/transformations/first-time-events.ts';
import { propertyFlattener } from '../../src/plugins/transformations/property-flattener.ts';
import { schemaEnforcer } from '../../src/plugins/transformations/schema-enforcer.ts';
import { semverFlattener } from '../../src/plugins/transformations/semver-flattener.ts';
import { sequenceTimer } from '../../src/plugins/transformations/sequence-timer.ts';
import { taxonomy } from '../../src/plugins/transformations/taxonomy.ts';
import { timestampParts } from '../../src/plugins/transformations/timestamp-parts.ts';
import { properties, type Case } from './case.ts';
import { address, event, person, some, text, value, withSome, word } from './events.ts';

/** The name among the words that every object has. */
const inherited = 'constructor';

const rates = { USD: 1, EUR: 0.8, JPY: 150.123 };
const money: Case = {
  published: 'currency-normalization-plugin',
  plugin: currency,
  jobs: fc
    .tuple(
      fc.constantFrom('EUR', 'JPY', 'XYZ'),
      some(
        event(
          withSome({
            amount: fc.oneof(fc.constantFrom<JsonValue>(0, 10, -2.5, 1e9, '12.5', '1e3'), value),
            currency: fc.constantFrom<JsonValue>('USD', 'EUR', 'usd', 'ABC', 5),
          }),
        ),
      ),
    )
    .map(([normalizedCurrency, events]) => {
      const config = {
        openExchangeRatesApiKey: 'key',
        normalizedCurrency,
        amountProperty: 'amount',
        currencyProperty: 'currency',
        normalizedAmountProperty: 'normalized_amount',
        normalizedCurrencyProperty: 'normalized_currency',
      };
      const fetched = { status: 200, body: new TextEncoder().encode(JSON.stringify({ rates })) };
      return {
        settings: config,
        meta: { config, fetch: async () => ({ status: 200, json: async () => ({ rates }) }) },
        host: { fetch: async ({ url }) => ({ ...fetched, url, statusText: 'OK', headers: {} }) },
        events,
      };
    }),
  mayDiffer: ({ before: { properties: given } }) => {
    const { amount, currency: unit } = given;
    const numeric = typeof amount === 'string' ? amount.trim() !== '' && Number.isFinite(Number(amount)) : undefined;
    if (!(numeric ?? Number.isFinite(amount))) return 'Amounts that are no number';
    return unit === 'usd' ? 'Currencies in lower case' : undefined;
  },
};

const firsts: Case = {
  published: 'first-time-event-tracker',
  plugin: firstTimeEvents,
  jobs: fc
    .tuple(fc.constantFrom('a', 'a,b', 'plan,Signed Up'), some(event(withSome({}))))
    .map(([events, list]) => ({ settings: { events }, meta: { config: { events } }, events: list })),
};

const pairs = fc.constantFrom('(a,b)', '(a,b),(plan,b)', '(Signed Up,plan),(plan,a)', '(a,a)');
const timers: Case = {
  published: 'event-sequence-timer-plugin',
  plugin: sequenceTimer,
  jobs: fc
    .tuple(pairs, fc.constantFrom('Yes', 'No'), some(event(withSome({}))))
    .map(([eventsToTrack, updateTimestamp, events]) => {
      const config = { eventsToTrack, updateTimestamp };
      return { settings: config, meta: { config }, events };
    }),
  normalise: properties((given) => delete given['working']),
  mayDiffer: ({ before }, { settings }) => {
    if (before.event === inherited) return 'An event that is named like a part of every object';
    return settings['eventsToTrack'] === '(a,a)' && before.event === 'a' ? 'A pair of an event with itself' : undefined;
  },
};

const duplicates: Case = {
  published: 'posthog-app-unduplicates',
  plugin: deDuplicator,
  jobs: fc
    .tuple(fc.constantFrom('Event and Timestamp', 'All Properties'), some(event(withSome({ $lib: text }))))
    .map(([dedupMode, events]) => ({
      settings: { dedupMode, skipLibs: 'none of these' },
      meta: { config: { dedupMode } },
      events,
    })),
};

const sampling: Case = {
  published: 'downsampling-plugin',
  plugin: downsampling,
  jobs: fc
    .tuple(fc.constantFrom('0', '20', '50.5', '100'), fc.string(), some(event(withSome({}))))
    .map(([percentage, distinct_id, events]) => {
      const config = { percentage, samplingMethod: 'Distinct ID aware sampling' };
      return {
        settings: config,
        meta: { config },
        events: events.map((each, index) => ({ ...each, distinct_id: `${distinct_id}${index}` })),
      };
    }),
};

const dropping: Case = {
  published: 'drop-events-on-property-plugin',
  plugin: dropEventsOnProperty,
  jobs: fc
    .tuple(
      fc.constantFrom('a', 'plan'),
      fc.constantFrom('', 'a', 'x,5,true,plan'),
      some(event(withSome({ plan: value }))),
    )
    .map(([property_key, property_values, events]) => {
      const config = { property_key, property_values };
      return { settings: config, meta: { config }, events };
    }),
  mayDiffer: ({ before }, { settings }) =>
    settings['property_values'] !== '' && typeof before.properties[String(settings['property_key'])] !== 'string'
      ? 'A number or a boolean matches'
      : undefined,
};

const filters: fc.Arbitrary<JsonValue[]> = fc.array(
  fc.oneof(
    fc.record({
      property: fc.constantFrom('a', 'plan'),
      type: fc.constant('string'),
      operator: fc.constantFrom('is', 'is_not', 'contains', 'not_contains', 'regex', 'not_regex'),
      value: fc.constantFrom('a', 'p', '^a', 'x_y'),
    }),
    fc.record({
      property: fc.constantFrom('a', 'x'),
      type: fc.constant('number'),
      operator: fc.constantFrom('gt', 'lt', 'gte', 'lte', 'eq', 'neq'),
      value: fc.constantFrom(0, 5),
    }),
    fc.record({
      property: fc.constantFrom('a', 'b'),
      type: fc.constant('boolean'),
      operator: fc.constantFrom('is', 'is_not'),
      value: fc.boolean(),
    }),
  ),
  { minLength: 1, maxLength: 2 },
);
const byFilters: Case = {
  published: 'posthog-filter-out-plugin',
  plugin: filterOut,
  jobs: fc
    .tuple(
      fc.oneof(filters, fc.array(filters, { minLength: 1, maxLength: 2 })),
      fc.constantFrom('b', 'a, Signed Up'),
      fc.constantFrom('Yes', 'No'),
      some(event(withSome({ a: value, b: value, x: value, plan: text }))),
    )
    .map(([list, eventsToDrop, keepUndefinedProperties, events]) => ({
      settings: { filtersJson: list, eventsToDrop, keepUndefinedProperties },
      meta: { config: { filters: list, eventsToDrop, keepUndefinedProperties } },
      events,
    })),
  mayDiffer: ({ before }, { settings }) => {
    const list = [settings['filtersJson'] ?? []].flat(3) as { property: string; type: string }[];
    const otherType = list.some(({ property, type }) => {
      const given = before.properties[property];
      return given !== undefined && typeof given !== type;
    });
    return otherType ? 'A value of another type than the filter expects' : undefined;
  },
};

const nested = fc.dictionary(word, fc.oneof(value, fc.dictionary(word, value, { maxKeys: 2, noNullPrototype: true })), {
  maxKeys: 3,
  noNullPrototype: true,
});
const flattening: Case = {
  published: 'flatten-properties-plugin',
  plugin: propertyFlattener,
  jobs: fc
    .tuple(
      fc.constantFrom('__', '.', '>', '/'),
      some(
        event(
          withSome({ a: nested, $set: nested, $set_once: nested, $group_set: nested, $elements: nested, x_y: nested }),
          fc.oneof(word, fc.constantFrom('$autocapture', 'organization usage report')),
        ),
      ),
    )
    .map(([separator, events]) => ({ settings: { separator }, meta: { config: { separator } }, events })),
};

const version = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('1.2.3', '2.10', '1.0.0-alpha.1', '3.0.0-rc-1+build.7', '0.0.1+5', 'v1.2.3', '1', ''),
  },
  value,
);
const versions: Case = {
  published: 'semver-flattener-plugin',
  plugin: semverFlattener,
  jobs: some(event(withSome({ app: version, plan: version }))).map((events) => ({
    settings: { properties: 'app, plan' },
    meta: { config: { properties: 'app, plan' } },
    events,
  })),
  mayDiffer: ({ before: { properties: given } }) => {
    const versionsOnly = ['app', 'plan'].every((key) => {
      const each = given[key] ?? '';
      return each === '' || (typeof each === 'string' && /^\d+\.\d+(\.\d+)?(-[\w.-]+)?(\+[\w.-]+)?$/.test(each));
    });
    return versionsOnly ? undefined : 'What is no version is left alone';
  },
};

const times: Case = {
  published: 'timestamp-parser-plugin',
  plugin: timestampParts,
  jobs: some(event(withSome({ $time: fc.integer({ min: 1_000_000_000, max: 2_000_000_000 }) }))).map((events) => ({
    settings: { property: '$time', timeZone: 'UTC' },
    meta: { config: {} },
    events,
  })),
};

const styles = fc.constantFrom('camelCase', 'PascalCase', 'snake_case', 'kebab-case', 'spaces in between');
const naming: Case = {
  published: 'taxonomy-plugin',
  plugin: taxonomy,
  jobs: fc
    .tuple(
      styles,
      some(
        event(
          withSome({}),
          fc.constantFrom(
            'signedUp',
            'signed_up',
            'signed-up',
            'signed up',
            'paid',
            'SignedUp',
            'Signed Up',
            'order_line_added',
          ),
        ),
      ),
    )
    .map(([defaultNamingConvention, events]) => ({
      settings: { defaultNamingConvention },
      meta: { config: { defaultNamingConvention } },
      events,
    })),
  mayDiffer: () => 'Words are found by blanks',
};

const schema = {
  onlyIngestEventsFromFile: false,
  eventSchemas: {
    a: { acceptOnlySchemaProps: true, schema: { plan: { type: 'string', required: true }, x: { type: 'number' } } },
    b: { schema: { plan: { type: 'string', required: true } } },
    plan: { acceptOnlySchemaProps: false, schema: { y: { type: 'boolean', required: true } } },
  },
};
const schemas: Case = {
  published: 'schema-enforcer-plugin',
  plugin: schemaEnforcer,
  jobs: fc
    .tuple(fc.boolean(), some(event(withSome({ plan: value, x: value, y: fc.oneof(fc.boolean(), text) }))))
    .map(([onlyIngestEventsFromFile, events]) => {
      const file = JSON.stringify({ ...schema, onlyIngestEventsFromFile });
      return {
        settings: { eventSchemas: file },
        meta: { config: {}, attachments: { eventSchemaFile: { contents: file } } },
        events,
      };
    }),
  mayDiffer: ({ before }) => {
    if (before.event === inherited) return 'An event that is named like a part of every object';
    if (before.event === 'a' && (before.properties['x'] ?? null) === null)
      return 'A property that is not required may be missing';
    const required = before.event === 'plan' ? 'y' : 'plan';
    return before.properties[required] ? undefined : 'A required property may be 0';
  },
};

const email = fc.oneof(fc.constantFrom('grace@example.com', 'b@c.de'), text);
const scores: Case = {
  published: 'mailboxlayer-plugin',
  plugin: emailScoring,
  mayDiffer: ({ before }) => {
    const { $set } = before.properties;
    const hasOther = typeof $set === 'object' && JSON.stringify($set).includes('"email"');
    return before.event === '$identify' && hasOther && !before.distinct_id.includes('@')
      ? 'What is no address is not asked for'
      : undefined;
  },
  jobs: some(
    event(
      withSome({ $set: fc.record({ email, plan: text }, { requiredKeys: [], noNullPrototype: true }) }),
      fc.constantFrom('$identify', 'a'),
    ),
  ).map((events) => {
    const answer = { score: 0.64, did_you_mean: '' };
    const config = { mailboxlayerApiKey: 'key' };
    return {
      settings: config,
      meta: { config, fetch: async () => ({ status: 200, json: async () => answer }) },
      host: {
        fetch: async ({ url }) => ({
          status: 200,
          statusText: 'OK',
          headers: {},
          body: new TextEncoder().encode(JSON.stringify(answer)),
          url,
        }),
      },
      events,
    };
  }),
};

const cleaning: Case = {
  published: 'stonly-clean-campaign',
  plugin: campaignCleaning,
  jobs: some(
    event(
      withSome({
        utm_campaign: fc.oneof(fc.constantFrom('com-onboarding-emea_2026', 'comp-a', 'a-b-c', 'x_com-y'), text),
        $set: person,
        $set_once: person,
      }),
    ),
  ).map((events) => ({ settings: campaignCleaning.example.settings, meta: { config: {} }, events })),
};

const paths = fc.constantFrom('a', 'a,plan', 'constructor', 'plan,x_y,b', '$set.a');
const removing: Case = {
  published: 'posthog-property-filter-plugin',
  plugin: filterProperties,
  jobs: fc.tuple(paths, some(event(withSome({ plan: nested, $set: person })))).map(([list, events]) => ({
    settings: { properties: list },
    meta: { config: { properties: list } },
    events,
  })),
  mayDiffer: ({ before: { properties: given } }, { settings }) => {
    if (settings['properties'] !== '$set.a') return undefined;
    const { $set } = given;
    const isThere = typeof $set === 'object' && $set !== null && 'a' in $set;
    return isThere ? undefined : 'A path that leads nowhere';
  },
};

const anonymous: Case = {
  published: 'posthog-anonymization',
  plugin: anonymise,
  jobs: fc
    .tuple(
      fc.constantFrom('plan', 'plan,distinct_id', 'a,x'),
      some(
        event(
          withSome({
            plan: value,
            $current_url: fc.oneof({ weight: 4, arbitrary: address }, text),
            $set: fc.record({ $current_url: address, plan: text }, { requiredKeys: [], noNullPrototype: true }),
            $set_once: fc.record({ $initial_current_url: address }, { requiredKeys: [], noNullPrototype: true }),
          }),
        ),
      ),
    )
    .map(([privateFields, events]) => {
      const config = { salt: 'a salt', privateFields };
      return { settings: config, meta: { config }, events };
    }),
  mayDiffer: ({ before: { properties: given } }, { settings }) => {
    const url = given['$current_url'];
    if (typeof url === 'string' && url !== '' && !URL.canParse(url)) return 'An address that is no URL loses';
    if (typeof url === 'string' && URL.parse(url)?.origin === 'null') return 'An address of an app';
    const hashed = String(settings['privateFields'])
      .split(',')
      .map((name) => given[name]);
    if (hashed.some((each) => each === null || each === '')) return 'Of the fields of the event itself only';
    return hashed.some((each) => typeof each === 'object') ? 'Lists and objects are hashed' : undefined;
  },
};

export const casesOfValues: readonly Case[] = [
  money,
  anonymous,
  firsts,
  timers,
  duplicates,
  sampling,
  dropping,
  byFilters,
  flattening,
  versions,
  times,
  naming,
  schemas,
  scores,
  cleaning,
  removing,
];
