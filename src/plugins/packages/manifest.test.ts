import { describe, expect, it } from 'vitest';
import { parseConfigSchema } from './config-schema.ts';
import { pluginNameOf, readManifest } from './manifest.ts';
import type { JsonValue } from '../../base/json.ts';

function filesOf(plugin: unknown, packageJson?: unknown): Map<string, string> {
  const files = new Map([['plugin.json', JSON.stringify(plugin)]]);
  if (packageJson !== undefined) files.set('package.json', JSON.stringify(packageJson));
  return files;
}

describe('plugin.json', () => {
  it('states name, description, page, entry, jobs; package.json states the version', () => {
    const plugin = {
      name: 'GeoIP',
      description: 'Where events come from',
      url: 'https://github.com/o/r',
      main: 'dist/index.js',
      stateless: true,
      posthogVersion: '>=1.24.0',
      icon: 'x.png',
      lib: 'legacy',
      publicJobs: { 'Clear storage': { payload: {} } },
    };
    expect(readManifest(filesOf(plugin, { name: '@o/r', version: '0.0.7' }))).toEqual({
      name: 'GeoIP',
      description: 'Where events come from',
      url: 'https://github.com/o/r',
      version: '0.0.7',
      main: 'dist/index.js',
      schema: [],
      publicJobs: { 'Clear storage': { payload: {} } },
    });
  });

  it('may be missing: then package.json may name the plugin', () => {
    expect(pluginNameOf(new Map([['package.json', '{"name": "@o/r"}']]))).toBe('@o/r');
    expect(readManifest(new Map())).toMatchObject({ name: undefined, version: undefined, main: undefined, url: null });
  });

  it('an address that is not a web page is not used', () => {
    expect(readManifest(filesOf({ name: 'x', url: 'javascript:alert(1)' })).url).toBeNull();
  });

  it.each([
    ['{"name": ', 'plugin.json: expected JSON'],
    ['[]', 'plugin.json: expected a JSON object'],
    ['{"name": 5}', 'plugin.json: "name": expected text'],
    ['{"main": ["a"]}', 'plugin.json: "main": expected text'],
    ['{"publicJobs": []}', '"publicJobs": expected an object'],
    ['{"publicJobs": {"x": 1}}', '"publicJobs": "x": expected an object'],
  ])('%s is refused', (text, message) => {
    expect(() => readManifest(new Map([['plugin.json', text]]))).toThrow(message);
  });
});

describe('config of a plugin.json', () => {
  it('a list keeps its order, and text between the fields', () => {
    const config = [
      { markdown: '# Before you start' },
      { key: 'host', name: 'Host', type: 'string', required: true, hint: 'h', order: 2, description: 'unknown' },
      { key: 'region', type: 'choice', choices: ['eu', 'us'], default: 'eu' },
    ];
    expect(parseConfigSchema(config)).toEqual([
      { markdown: '# Before you start' },
      { key: 'host', name: 'Host', type: 'string', required: true, hint: 'h', order: 2 },
      { key: 'region', name: 'region', type: 'choice', choices: ['eu', 'us'], default: 'eu' },
    ]);
  });

  it('an object of fields by key, the older form, is equivalent', () => {
    expect(parseConfigSchema({ token: { name: 'Token', secret: true }, file: { type: 'attachment' } })).toEqual([
      { key: 'token', name: 'Token', type: 'string', secret: true },
      { key: 'file', name: 'file', type: 'attachment' },
    ]);
  });

  it.each<[JsonValue, unknown]>([
    [
      { type: 'number', default: 100 },
      { type: 'number', default: '100' },
    ],
    [
      { type: 'number', minimum: 0, maximum: 5, integer: true },
      { type: 'number', minimum: 0, maximum: 5, integer: true },
    ],
    [{ type: 'string', minimum: 0 }, { type: 'string' }],
    [{ type: 'text' }, { type: 'text' }],
    [{ type: 'unknown' }, { type: 'string' }],
    [
      { type: 'boolean', default: true },
      { type: 'boolean', default: 'true' },
    ],
    [{ type: null }, { type: 'string' }],
    [{ type: 'choice' }, { type: 'string' }],
    [
      { type: 'choice', choices: [1, 2] },
      { type: 'choice', choices: ['1', '2'] },
    ],
    [
      { type: 'json', default: { a: 1 } },
      { type: 'json', default: { a: 1 } },
    ],
    [{ required: false, secret: false }, { type: 'string' }],
    [{ required_if: [['url', '']] }, { type: 'string', required_if: [['url', '']] }],
    [{ visible_if: [['url'], ['mode', 'a']] }, { type: 'string', visible_if: [['url'], ['mode', 'a']] }],
  ])('%j becomes %j', (field, expected) => {
    const given = { key: 'k', ...(field as object) } as JsonValue;
    expect(parseConfigSchema([given])).toEqual([{ key: 'k', name: 'k', ...(expected as object) }]);
  });

  it.each<[JsonValue, string]>([
    ['text', 'expected a list of fields'],
    [[1], 'entry 1: expected an object'],
    [[{}], 'entry 1: expected a "key" or "markdown"'],
    [[{ key: 5 }], '"key": expected text'],
    [[{ key: 'a' }, { key: 'a' }], 'field "a" is defined twice'],
    [[{ key: 'a', choices: 'x' }], 'field "a": "choices": expected a list of texts'],
    [[{ key: 'a', name: {} }], 'field "a": "name": expected text'],
    [[{ key: 'a', required_if: 'b' }], '"required_if": expected a list of [key, value]'],
    [[{ key: 'a', visible_if: ['b'] }], '"visible_if": expected [key, value]'],
  ])('%j is refused', (config, message) => {
    expect(() => parseConfigSchema(config)).toThrow(`plugin.json: "config": `);
    expect(() => parseConfigSchema(config)).toThrow(message);
  });
});
