import * as fc from 'fast-check';
import type { TransformEvent } from '../../src/plugins/plugin.ts';
import type { JsonObject, JsonValue } from '../../src/base/json.ts';

/** Words in which names and values come from a small set, so that they meet each other and the settings. */
export const word = fc.constantFrom('a', 'b', 'plan', 'Plan', 'x_y', 'x', 'y', 'Signed Up', 'constructor', 'e-mail');
export const text = fc.oneof(
  word,
  fc.constantFrom('', '5', 'true', 'é ü', '1.2.3', 'a,b'),
  fc.string({ maxLength: 8 }),
);

export const value: fc.Arbitrary<JsonValue> = fc.oneof(
  text,
  fc.constantFrom<JsonValue>(null, true, false, 0, 5, -1.5, [], {}),
  fc.array(text, { maxLength: 2 }),
  fc.dictionary(word, text, { maxKeys: 2, noNullPrototype: true }),
);

/** Address parts that meet the plugins' rules. */
const path = fc.array(fc.constantFrom('', 'users', 'Users', 'ada', '42', 'de', 'en', 'a%20b', '%C3%A9', 'x.y'), {
  maxLength: 4,
});
const parameter = fc.tuple(
  fc.constantFrom('utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content', 'plan', 'Plan', 'q', 'x', ''),
  fc.constantFrom('', 'News', 'a%20b', 'a+b', 'é', '1', '%26', 'x=y'),
);
const host = fc.constantFrom(
  'example.com',
  'Example.COM',
  'www.google.com',
  'www.facebook.com',
  'mail.google.com',
  'getjoan.com',
  'a.b:8080',
);

export const pathname: fc.Arbitrary<string> = path.map((parts) => `/${parts.join('/')}`);
export const address: fc.Arbitrary<string> = fc
  .record({
    scheme: fc.constantFrom('https://', 'http://', 'HTTPS://'),
    host,
    pathname: fc.oneof(fc.constant(''), pathname),
    parameters: fc.array(parameter, { maxLength: 3 }),
    hash: fc.constantFrom('', '#top', '#/a?utm_source=Hash', '#'),
  })
  .map(({ scheme, host: name, pathname: at, parameters, hash }) => {
    const query = parameters.map(([key, given]) => (given === '' ? key : `${key}=${given}`)).join('&');
    return `${scheme}${name}${at}${parameters.length === 0 ? '' : `?${query}`}${hash}`;
  });

export function event(
  properties: fc.Arbitrary<JsonObject>,
  names: fc.Arbitrary<string> = word,
): fc.Arbitrary<TransformEvent> {
  return fc.record({
    uuid: fc.uuid(),
    event: names,
    distinct_id: fc.constantFrom('u1', 'u2', 'ada@example.com'),
    team_id: fc.constant(1),
    timestamp: fc.integer({ min: 1.6e12, max: 1.9e12 }).map((ms) => new Date(ms).toISOString()),
    properties,
  });
}

export const person = fc.dictionary(word, text, { maxKeys: 2, noNullPrototype: true });

/** Any properties, with some of the named ones among them. */
export function withSome(named: Readonly<Record<string, fc.Arbitrary<JsonValue>>>): fc.Arbitrary<JsonObject> {
  return fc
    .tuple(
      fc.dictionary(word, value, { maxKeys: 3, noNullPrototype: true }),
      fc.record(named, { requiredKeys: [], noNullPrototype: true }),
    )
    .map(([others, given]) => Object.assign({}, others, given) as JsonObject);
}

export function some(one: fc.Arbitrary<TransformEvent>): fc.Arbitrary<TransformEvent[]> {
  return fc.array(one, { minLength: 1, maxLength: 6 });
}
