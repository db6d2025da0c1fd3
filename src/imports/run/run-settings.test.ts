import { describe, expect, it } from 'vitest';
import { checkSettings, missingRequired } from '../../plugins/check-settings.ts';
import { importRunJobs, SettingsError, type ImportSourcePlugin } from '../../plugins/plugin.ts';
import type { JsonObject } from '../../base/json.ts';
import { createRegistry } from '../../plugins/plugin-registry.ts';
import { fieldsOf, importFields, runOptionsOf } from './run-settings.ts';

const plugin: ImportSourcePlugin = {
  slug: 'shop',
  kind: 'import-app',
  name: 'Shop',
  description: 'Orders.',
  version: '1.0.0',
  fields: [{ key: 'token', name: 'Token', type: 'string', secret: true }],
  jobs: importRunJobs,
  formats: ['mixpanel', 'mapping'],
  range: 'Time of the order.',
  example: {},
  createSource: () => {
    throw new Error('expected no source to be created');
  },
};

const standard = {
  range: {},
  format: 'mixpanel',
  formatOptions: {},
  last: 'report',
  rejectedMax: 0,
  eventsPerSecond: 0,
  target: { kind: 'project' },
};

describe('settings of every import source', () => {
  it('come after its own, and each has a hint and a default that is a value of it', () => {
    const fields = fieldsOf(plugin);
    expect(fields[0]?.key).toBe('token');
    for (const field of fields.slice(1)) {
      expect(field.hint ?? '').not.toBe('');
      expect(checkSettings(fields, { [field.key]: field.default ?? null })).toEqual([]);
      expect(field.secret === true && field.default !== undefined).toBe(false);
    }
    expect(new Set(fields.map(({ key }) => key)).size).toBe(fields.length);
    expect(createRegistry([plugin]).get('shop')).toBe(plugin);
  });

  it('a source that takes any format requires a format', () => {
    expect(missingRequired(importFields({ formats: [] }), {})).toEqual(['format']);
    expect(missingRequired(importFields(plugin), {})).toEqual([]);
  });

  it('a target needs its key', () => {
    expect(missingRequired(importFields(plugin), { target_url: 'https://a.example.com' })).toEqual(['target_api_key']);
  });
});

describe('options of a run', () => {
  it('without settings are the defaults', () => {
    expect(runOptionsOf(plugin, {}, {})).toEqual(standard);
  });

  it('come from the settings', () => {
    const settings = {
      format: 'mapping',
      format_options: { mapping: { event: 'e', distinct_id: 'u', timestamp: 't' } },
      names: '{"events": {"a": "b"}}',
      events_per_second: '500',
      rejected_max: '2.5',
      target_url: 'https://eu.example.com',
      target_api_key: 'phc_target',
    };
    const { formatOptions, ...options } = runOptionsOf(plugin, settings, {});
    expect(JSON.parse(formatOptions['mapping'] ?? '')).toEqual({ event: 'e', distinct_id: 'u', timestamp: 't' });
    expect(options).toEqual({
      range: {},
      format: 'mapping',
      names: { events: { a: 'b' } },
      last: 'report',
      rejectedMax: 0.025,
      eventsPerSecond: 500,
      target: { kind: 'http', url: 'https://eu.example.com/' },
    });
    expect(JSON.stringify(options)).not.toContain('phc_target');
  });

  it('can be overridden for one run', () => {
    const payload = {
      from: '2024-03-01',
      to: '2024-03-02T12:00:00+02:00',
      limit: 10,
      last: 'check',
      rejected_max: 0.1,
      events_per_second: 7,
    };
    expect(runOptionsOf(plugin, { events_per_second: '500' }, payload)).toEqual({
      ...standard,
      range: { from: '2024-03-01T00:00:00.000Z', to: '2024-03-02T10:00:00.000Z' },
      limit: 10,
      last: 'check',
      rejectedMax: 0.1,
      eventsPerSecond: 7,
    });
  });

  it('a time without a zone is UTC, wherever the program runs', () => {
    expect(runOptionsOf(plugin, {}, { from: '2024-03-01T10:00' }).range).toEqual({ from: '2024-03-01T10:00:00.000Z' });
  });

  const wrong: readonly (readonly [string, JsonObject, JsonObject, RegExp])[] = [
    ['a payload with a typo', {}, { form: '2024-01-01' }, /got "form"/],
    ['an empty range', {}, { from: '2024-01-02', to: '2024-01-02' }, /"to": expected a time after "from"/],
    ['an invalid time', {}, { from: 'yesterday' }, /"from": expected a day/],
    ['a limit of no records', {}, { limit: 0 }, /"limit": expected a whole number from 1/],
    ['a share above one', {}, { rejected_max: 5 }, /"rejected_max": expected a number from 0 to 1/],
    ['an unknown last stage', {}, { last: 'load' }, /"last": expected check or report/],
    ['a format of another tool', { format: 'amplitude' }, {}, /expected one of mixpanel, mapping, got "amplitude"/],
    [
      'an option that the format does not have',
      { format_options: { nope: '1' } },
      {},
      /expected an option of the format mixpanel .*, got nope/,
    ],
    ['names that are not an object', { names: '[1]' }, {}, /"names": expected a JSON object/],
    ['names of something unknown', { names: { event: {} } }, {}, /expected only events, properties/],
    ['an invalid percentage', { rejected_max: '-1' }, {}, /percentage from 0 to 100/],
    ['a target with a key in the address', { target_url: 'https://k@a.example' }, {}, /without a key/],
    ['a target without its key', { target_url: 'https://a.example' }, {}, /"target_api_key"/],
  ];
  it.each(wrong)('%s is refused with what to change', (_name, settings, payload, message) => {
    expect(() => runOptionsOf(plugin, settings, payload)).toThrow(SettingsError);
    expect(() => runOptionsOf(plugin, settings, payload)).toThrow(message);
  });

  it('a source without times is read whole, and a range chooses events by their own time', () => {
    const files = { ...plugin, range: undefined };
    const range = { from: '2024-01-01T00:00:00.000Z' };
    expect(runOptionsOf(files, {}, { from: '2024-01-01' })).toMatchObject({ range, choice: { time: range } });
    expect(runOptionsOf(plugin, {}, { from: '2024-01-01' }).choice).toBeUndefined();
    const choose = { time: { to: '2024-02-01' } };
    expect(() => runOptionsOf(files, {}, { from: '2024-01-01', choose })).toThrow(
      /expected no value together with "from"/,
    );
  });

  it('the choice comes from the settings, and a run can override it', () => {
    const settings = { choose: '{"sample": 0.5}' };
    expect(runOptionsOf(plugin, settings, {}).choice).toEqual({ sample: 0.5 });
    expect(runOptionsOf(plugin, settings, { choose: { events: { only: ['a'] } } }).choice).toEqual({
      events: { only: ['a'] },
    });
    expect(() => runOptionsOf(plugin, { choose: { sample: 2 } }, {})).toThrow(/setting "choose": choose\.sample/);
  });

  it('a rule for unusual values is one of the rules of that value, and fits the format', () => {
    expect(runOptionsOf(plugin, {}, { choose: { padded_ids: 'trim' } }).choice).toEqual({ padded_ids: 'trim' });
    expect(() => runOptionsOf(plugin, { choose: { padded_ids: 'cut' } }, {})).toThrow(/choose\.padded_ids/);
    const heap = { ...plugin, formats: ['heap'] };
    expect(() => runOptionsOf(heap, { choose: { odd_times: 'received' } }, {})).toThrow(/odd_times: received needs/);
  });
});
