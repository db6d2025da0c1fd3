import { expect, it } from 'vitest';
import { ApiError } from '../api/api-error.ts';
import {
  changedSettings,
  isField,
  missingSettings,
  readSchema,
  settingErrors,
  settingsBody,
  visibleEntries,
} from './schema-values.ts';

const schema = readSchema([
  { markdown: 'About it.' },
  { key: 'mode', name: 'Mode', type: 'choice', choices: ['file', 'table'], default: 'file' },
  { key: 'table', name: 'Table', type: 'string', required: true, visible_if: [['mode', 'table']] },
  { key: 'token', name: 'Token', type: 'string', secret: true, required_if: [['table']] },
  { type: 'string' },
]);
const keys = (values: Record<string, unknown>): string[] =>
  visibleEntries(schema, values).flatMap((entry) => (isField(entry) ? [entry.key] : []));

it('a field is shown and required only when its conditions hold, which also consider default values', () => {
  expect(keys({})).toEqual(['mode', 'token']);
  expect(keys({ mode: 'table' })).toEqual(['mode', 'table', 'token']);
  expect(missingSettings(schema, {})).toEqual({});
  expect(Object.keys(missingSettings(schema, { mode: 'table' }))).toEqual(['table']);
  expect(Object.keys(missingSettings(schema, { mode: 'table', table: 'events' }))).toEqual(['token']);
  expect(missingSettings(schema, { mode: 'table', table: 'events', token: '*** mask ***' })).toEqual({});
});

it('only changes are sent: an unchanged secret is omitted, a cleared one is empty', () => {
  const stored = { mode: 'table', table: 'events', token: '*** mask ***' };
  expect(changedSettings(stored, stored)).toEqual({});
  expect(changedSettings(stored, { ...stored, token: '' })).toEqual({ token: '' });
  expect(changedSettings(stored, { mode: 'file', token: 'new' })).toEqual({ mode: 'file', table: '', token: 'new' });
  expect(changedSettings({}, { mode: '' })).toEqual({});
});

it('files are sent as multipart together with the other settings', () => {
  const form = settingsBody({ map: new File(['{}'], 'map.json'), mode: 'file', rules: { a: 1 } });
  expect(form).toBeInstanceOf(FormData);
  if (!(form instanceof FormData)) return;
  expect([form.get('mode'), form.get('rules')]).toEqual(['file', '{"a":1}']);
  expect(form.get('map')).toMatchObject({ name: 'map.json' });
});

it('API errors are assigned to their settings', () => {
  const wrong = { code: 'invalid_input', detail: 'Expected JSON.', attr: 'settings.rules' } as const;
  const missing = { code: 'required', detail: 'This field is required.', attr: 'settings.token' } as const;
  const error = new ApiError(400, { ...wrong, errors: [wrong, missing] });
  expect(settingErrors(error)).toEqual({ rules: 'Expected JSON.', token: 'This field is required.' });
  expect(settingErrors(new Error('else'))).toEqual({});
});
