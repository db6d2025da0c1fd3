import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../base/json.ts';
import type { PluginField } from '../../plugins/fields.ts';
import { exportFile } from './configuration-files.ts';
import { parseConfigurationFile } from './read-file.ts';
import type { PresentConfig, PresentProject } from './target.ts';

const fields: readonly PluginField[] = [
  { key: 'text', name: 'Text', type: 'text' },
  { key: 'table', name: 'Table', type: 'json' },
  { key: 'token', name: 'Token', type: 'string', secret: true },
];

function project(configs: readonly Partial<PresentConfig>[]): PresentProject {
  const whole = configs.map((config, index): PresentConfig => ({
    id: index + 1,
    family: 'transformation',
    plugin: 'p',
    name: 'P',
    description: '',
    enabled: true,
    settings: {},
    version: '1.0.0',
    fields,
    pluginName: 'P',
    pluginDescription: '',
    schedule: null,
    updatedAt: '',
    ...config,
  }));
  return { id: 1, name: 'First', timezone: 'UTC', configs: { transformation: whole, 'import-app': [] } };
}

const exported = (configs: readonly Partial<PresentConfig>[]) => {
  const { text, ...names } = exportFile([project(configs)], [], new Map());
  return { entries: parseConfigurationFile(text, 'test').file.projects[0]?.transformations ?? [], text, ...names };
};

describe('an exported file', () => {
  it('reproduces the state, whatever the texts contain', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
      fc.string({
        unit: fc.constantFrom('\n', '\r', '\t', ' ', ':', '#', '-', '"', "'", '\\', '%', 'a', '\u0085', '\u2028'),
        minLength: 1,
      }),
      fc.constantFrom(
        'yes',
        'null',
        '~',
        '1.10',
        '0x1f',
        '2026-01-01',
        '*a',
        '&a',
        '!x',
        '<<',
        '{a',
        '- a',
        '---',
        '...',
      ),
    );
    const json = fc.jsonValue({ maxDepth: 3 }).filter((value) => value !== null && value !== '');
    fc.assert(
      fc.property(text, text, json, (own, description, table) => {
        const settings = { text: own, table: JSON.parse(JSON.stringify(table)) as JsonValue };
        const [entry] = exported([{ name: own, description, settings }]).entries;
        expect(entry).toEqual({ plugin: 'p', name: own, version: '1.0.0', enabled: true, description, settings });
      }),
    );
  });

  it('has a separate variable for each secret, and never the mask', () => {
    const settings = { token: '**** SECRET ****' };
    const { entries, variables, text } = exported([
      { name: 'Über-Filter (v2)', settings },
      { name: 'uber filter v2', settings },
      { name: '2nd', settings },
    ]);
    expect(variables).toEqual(['UBER_FILTER_V2_TOKEN', 'UBER_FILTER_V2_TOKEN_2', '_2ND_TOKEN']);
    expect(entries.map((entry) => entry.settings)).toEqual(variables.map((env) => ({ token: { env } })));
    expect(text).not.toContain('SECRET');
  });
});
