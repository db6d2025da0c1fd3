import { expect, it } from 'vitest';
import { unknownFieldsHeaders } from './unknown-fields.ts';

const taken = ['label', 'scopes', 'scoped_teams', 'expires_at'];
const answer = {
  id: 'a',
  label: 'CI',
  scopes: ['*'],
  scoped_teams: null,
  scoped_organizations: null,
  last_used_at: null,
};

it.each([
  [{ scoped_projects: [1] }, '"scoped_projects" (did you mean "scoped_teams"?)'],
  [{ scoped_team: [1] }, '"scoped_team" (did you mean "scoped_teams"?)'],
  [{ expire_at: '2030-01-01' }, '"expire_at" (did you mean "expires_at"?)'],
  [{ scoped_organizations: ['a'] }, '"scoped_organizations" (did you mean "scoped_teams"?)'],
  [{ 'zwölf\r\nx-a: b': 1 }, '"zw\\u00f6lf\\r\\nx-a: b"'],
])('%j is reported with the field that was probably meant', (body, named) => {
  expect(unknownFieldsHeaders({ label: 'CI', ...body }, taken, answer)).toEqual({
    'x-warning': `ignored ${named}; expected only label, scopes, scoped_teams, expires_at`,
  });
});

it('a record can be sent back as it was read, without a warning', () => {
  expect(unknownFieldsHeaders(answer, taken, answer)).toEqual({});
  expect(unknownFieldsHeaders({ ...answer, scoped_organizations: [] }, taken, answer)).toEqual({});
  expect(unknownFieldsHeaders(undefined, taken, answer)).toEqual({});
});

it('a field that this operation cannot set and that differs from the response is reported', () => {
  expect(unknownFieldsHeaders({ scopes: ['plugin:read'] }, [], answer)).toEqual({
    'x-warning': 'ignored "scopes"; this operation takes no field',
  });
});
