import { describe, expect, it } from 'vitest';
import { checkSettings, missingRequired, withDefaults } from './check-settings.ts';
import { secretMask, type PluginField } from './fields.ts';
import { nextSettings } from './configs/write-settings.ts';
import { maskSettings, withoutSecrets } from './mask-secrets.ts';

const fields: readonly PluginField[] = [
  { key: 'name', name: 'Name', type: 'string', required: true },
  { key: 'token', name: 'Token', type: 'string', secret: true, required: true },
  { key: 'region', name: 'Region', type: 'choice', choices: ['eu', 'us'], default: 'eu', required: true },
  { key: 'table', name: 'Table', type: 'json' },
  { key: 'file', name: 'File', type: 'attachment', required: true },
];

describe('check of settings', () => {
  it.each([
    [{}],
    [{ name: 'x', token: 't', region: 'us', table: [1], file: '' }],
    [{ name: '', token: null, region: '', table: null }],
    [{ table: '{"a": 1}' }],
    [{ table: false }],
  ])('takes %j', (values) => {
    expect(checkSettings(fields, values)).toEqual([]);
  });

  it.each([
    [{ other: 1 }, 'settings.other', "The plugin's settings are: name, token, region, table, file."],
    [{ name: 1 }, 'settings.name', 'Not a valid string.'],
    [{ name: {} }, 'settings.name', 'Not a valid string.'],
    [{ name: 'x'.repeat(100_001) }, 'settings.name', 'no more than 100000 characters'],
    [{ token: secretMask }, 'settings.token', 'Leave the key out'],
    [{ name: secretMask }, 'settings.name', 'This is the mask'],
    [{ region: 'moon' }, 'settings.region', 'Expected one of: eu, us.'],
    [{ table: '{' }, 'settings.table', 'Expected JSON'],
    [{ table: ['x'.repeat(1_000_000)] }, 'settings.table', 'no more than 1000000 characters'],
    [{ file: 'text' }, 'settings.file', 'Send a file'],
    [{ toString: 'x' }, 'settings.toString', 'Unknown setting'],
  ])('refuses %j', (values, attr, detail) => {
    const errors = checkSettings(fields, values);
    expect(errors).toEqual([{ code: 'invalid_input', attr, detail: expect.stringContaining(detail) }]);
  });

  const typed: readonly PluginField[] = [
    { key: 'rate', name: 'Rate', type: 'number', minimum: 0, maximum: 100 },
    { key: 'count', name: 'Count', type: 'number', integer: true },
    { key: 'on', name: 'On', type: 'boolean' },
    { key: 'lines', name: 'Lines', type: 'text' },
  ];

  it.each([
    [{ rate: 12.5, count: '-3', on: true, lines: 'a\nb' }],
    [{ rate: '100', count: 0, on: 'false' }],
    [{ rate: '', on: null }],
  ])('takes numbers, flags and lines as what they are or as text: %j', (values) => {
    expect(checkSettings(typed, values)).toEqual([]);
  });

  it.each([
    [{ rate: 'much' }, 'settings.rate', 'Expected a number.'],
    [{ rate: '0x10' }, 'settings.rate', 'Expected a number.'],
    [{ rate: true }, 'settings.rate', 'Expected a number.'],
    [{ rate: -1 }, 'settings.rate', 'greater than or equal to 0'],
    [{ rate: '100.1' }, 'settings.rate', 'less than or equal to 100'],
    [{ count: 1.5 }, 'settings.count', 'Expected a whole number.'],
    [{ on: 'Yes' }, 'settings.on', 'Expected true or false.'],
    [{ on: 1 }, 'settings.on', 'Expected true or false.'],
    [{ lines: ['a'] }, 'settings.lines', 'Not a valid string.'],
  ])('refuses %j as the type of the field says', (values, attr, detail) => {
    const errors = checkSettings(typed, values);
    expect(errors).toEqual([{ code: 'invalid_input', attr, detail: expect.stringContaining(detail) }]);
  });

  it('numbers and flags are stored as text, as plugins receive them, and JSON unchanged', () => {
    const fields = [...typed, { key: 'table', name: 'Table', type: 'json' } as const];
    const values = { rate: 5, count: '7', on: false, lines: 'a\nb', table: 3 };
    expect(nextSettings({ fields, settings: {} }, values, 'merge')).toEqual({
      rate: '5',
      count: '7',
      on: 'false',
      lines: 'a\nb',
      table: 3,
    });
  });

  it('a condition on a flag holds for its text as well', () => {
    const conditional: readonly PluginField[] = [
      { key: 'on', name: 'On', type: 'boolean' },
      { key: 'why', name: 'Why', type: 'text', required: true, visible_if: [['on', true]] },
    ];
    expect(missingRequired(conditional, { on: 'true' })).toEqual(['why']);
    expect(missingRequired(conditional, { on: 'false' })).toEqual([]);
  });

  it('required settings are missing without a value, a default or a file', () => {
    expect(missingRequired(fields, {})).toEqual(['name', 'token', 'file']);
    expect(missingRequired(fields, { name: '', token: null })).toEqual(['name', 'token', 'file']);
    expect(missingRequired(fields, { name: 'x', token: 't' }, new Set(['file']))).toEqual([]);
  });

  it.each([
    ['required where another is empty', { required_if: [['url', '']] }, {}, true],
    ['not required where another is given', { required_if: [['url', '']] }, { url: 'x' }, false],
    ['required by any value of another', { required_if: [['url']] }, { url: 'x' }, true],
    ['not required by no value', { required_if: [['url']] }, {}, false],
    ['required only when every condition holds', { required_if: [['url'], ['mode', 'b']] }, { url: 'x' }, false],
    ['required by a default of another', { required_if: [['mode', 'a']] }, {}, true],
    ['never required by no conditions', { required_if: [] }, {}, false],
    ['not required while it is hidden', { required: true, visible_if: [['mode', 'b']] }, {}, false],
    ['required once it is visible', { required: true, visible_if: [['mode', 'b']] }, { mode: 'b' }, true],
    ['never missing with a default', { required_if: [['url', '']], default: 'd' }, {}, false],
  ] as const)('%s', (_name, conditions, values, missing) => {
    const conditional: readonly PluginField[] = [
      { key: 'url', name: 'URL', type: 'string' },
      { key: 'mode', name: 'Mode', type: 'choice', choices: ['a', 'b'], default: 'a' },
      { key: 'host', name: 'Host', type: 'string', ...conditions },
    ];
    expect(missingRequired(conditional, values)).toEqual(missing ? ['host'] : []);
  });

  it('a plugin receives values, otherwise defaults, and no unknown settings', () => {
    expect(withDefaults(fields, { name: 'x', region: '', other: 1 })).toEqual({ name: 'x', region: 'eu' });
    expect(withDefaults(fields, { table: false })).toEqual({ region: 'eu', table: false });
  });
});

describe('masks', () => {
  it('set secrets are masked, empty ones are empty, unknown keys are hidden', () => {
    expect(maskSettings(fields, { name: 'x', token: 's', stray: 'secret of an older version' })).toEqual({
      name: 'x',
      token: secretMask,
    });
    expect(maskSettings(fields, { token: '' })).toEqual({ token: '' });
  });

  it('a text loses every occurrence of a secret', () => {
    expect(withoutSecrets('bad key s3cr3t (s3cr3t) for x', fields, { name: 'x', token: 's3cr3t' })).toBe(
      `bad key ${secretMask} (${secretMask}) for x`,
    );
  });
});
