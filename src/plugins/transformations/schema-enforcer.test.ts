import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { schemaEnforcer } from './schema-enforcer.ts';
import { parsed, transform } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';

const schemas = {
  eventSchemas: {
    a: {
      schema: {
        text: { type: 'string' },
        number: { type: 'Number', required: true },
        flag: { type: 'boolean', required: false },
      },
    },
    only: { acceptOnlySchemaProps: true, schema: { x: { type: 'string' }, __proto: { type: 'string' } } },
    json: {
      jsonSchema: {
        type: 'object',
        required: ['n'],
        properties: { n: { type: 'integer', minimum: 1 }, code: { type: 'string', pattern: '^(a+)+$' } },
        additionalProperties: true,
      },
    },
  },
};

function after(
  event: string,
  properties: JsonObject,
  more: Record<string, JsonValue> = {},
  given: JsonValue = schemas,
) {
  return transform(schemaEnforcer, { eventSchemas: given, ...more }, { event, properties })?.properties;
}

describe('schema enforcer', () => {
  it('does what its example shows', () => {
    const { settings, before, after: expected } = schemaEnforcer.example;
    expect(transform(schemaEnforcer, settings, before)).toEqual(expected);
  });

  it.each<[JsonObject, boolean]>([
    [{ number: 1 }, true],
    [{ number: 0, flag: false, text: '' }, true],
    [{ number: 1, text: null, other: [] }, true],
    [{}, false],
    [{ number: null }, false],
    [{ number: '1' }, false],
    [{ number: 1, flag: 'yes' }, false],
    [{ number: 1, text: [] }, false],
  ])('%j is kept: %s', (properties, expected) => {
    expect(after('a', properties) !== undefined).toBe(expected);
  });

  it.each<[JsonObject, boolean]>([
    [{ n: 1 }, true],
    [{ n: 1, code: 'aaa' }, true],
    [{ n: 0 }, false],
    [{ n: 1.5 }, false],
    [{}, false],
    [{ n: 1, code: `${'a'.repeat(5000)}!` }, false],
  ])('by JSON schema, event %# is kept: %s', (properties, expected) => {
    expect(after('json', properties) !== undefined).toBe(expected);
  });

  it('keeps only the properties of the schema on request', () => {
    expect(after('only', { x: 'x', y: 1, $set: {} })).toEqual({ x: 'x' });
    expect(JSON.stringify(after('only', parsed('{"__proto__": "x"}')))).toBe('{}');
  });

  it('events without a schema pass, unless only listed ones may', () => {
    for (const event of ['other', 'constructor', '__proto__']) {
      expect(after(event, { a: 1 })).toEqual({ a: 1 });
      expect(after(event, { a: 1 }, {}, { ...schemas, onlyIngestEventsFromFile: true })).toBeUndefined();
    }
  });

  it('lists the errors if it keeps the event', () => {
    const more = { onViolation: 'Keep it and say so' };
    expect(after('a', { text: 5 }, more)).toEqual({
      text: 5,
      $schema_errors: ['text: expected string, got number', 'number: expected number, got nothing'],
    });
    expect(after('json', { n: 0 }, more)).toEqual({ n: 0, $schema_errors: ['n: must be >= 1'] });
  });

  it('the schemas may be a file', () => {
    const file = (text: string) => {
      const content = Buffer.from(text);
      return testHost({
        attachments: new Map([['eventSchemaFile', { fileName: 's', contentType: 'application/json', content }]]),
      });
    };
    const before = { event: 'a', properties: {} };
    expect(transform(schemaEnforcer, {}, before, file(JSON.stringify(schemas)))).toBeNull();
    expect(() => schemaEnforcer.create({}, file('{'))).toThrow('expected JSON');
  });

  it.each<[JsonValue, string]>([
    [[], 'expected an object with "eventSchemas"'],
    [{ eventSchemas: {} }, 'at least one event'],
    [{ eventSchemas: { a: 1 } }, 'event "a": expected an object'],
    [{ eventSchemas: { a: {} } }, 'expected "schema"'],
    [{ eventSchemas: { a: { schema: { x: { type: 'date' } } } } }, 'property "x": "type" must be one of'],
    [{ eventSchemas: { a: { schema: { x: { type: 'string', required: 'yes' } } } } }, 'expected true or false'],
    [{ eventSchemas: { a: { jsonSchema: { type: 'text' } } } }, 'cannot be used'],
    [{ eventSchemas: { a: { jsonSchema: { requierd: ['x'] } } } }, 'cannot be used'],
    [{ eventSchemas: { a: { jsonSchema: { properties: { x: { uniqueItems: true } } } } } }, 'cannot be used'],
    [{ eventSchemas: { a: { jsonSchema: { properties: { x: { pattern: '(' } } } } } }, 'expected a regular expression'],
  ])('refuses %j', (given, message) => {
    expect(() => schemaEnforcer.create({ eventSchemas: given }, testHost())).toThrow(message);
  });

  it('refuses to check nothing', () => {
    expect(() => schemaEnforcer.create({}, testHost())).toThrow('give the schemas');
  });
});
