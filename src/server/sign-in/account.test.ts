import { describe, expect, it } from 'vitest';
import { loadSettings } from '../config/load.ts';
import { claimAt, readAccount, readGroups, roleOf, type Claims } from './account.ts';
import { readOidcSettings, type OidcSettings } from './oidc-settings.ts';
import { SignInError } from './sign-in-error.ts';

const issuer = 'https://id.example.com/realms/company';

function settingsOf(env: Readonly<Record<string, string>> = {}): OidcSettings {
  const base = { MILLRACE_OIDC_ISSUER: issuer, MILLRACE_OIDC_CLIENT_ID: 'millrace', MILLRACE_OIDC_NAME: 'ID' };
  const settings = readOidcSettings(loadSettings({ env: { ...base, ...env } }).settings);
  if (settings === undefined) throw new Error('expected settings');
  return settings;
}

const claims: Claims = {
  iss: issuer,
  sub: 'u1',
  email: 'Ada@Example.com',
  email_verified: true,
  name: ' Ada Lovelace ',
  groups: ['staff', 'admins'],
};

function codeOf(given: Claims, env: Readonly<Record<string, string>> = {}): string {
  try {
    return readAccount(given, settingsOf(env)).role.kind;
  } catch (error) {
    if (error instanceof SignInError) return error.code;
    throw error;
  }
}

describe('roles of groups', () => {
  const roleOfGroup = new Map([
    ['staff', 'viewer'],
    ['writers', 'editor'],
    ['admins', 'admin'],
  ] as const);

  it.each([
    [['staff', 'admins', 'writers'], 'admin'],
    [['writers', 'staff'], 'editor'],
    [['Staff'], undefined],
    [['admin'], undefined],
    [[], undefined],
  ] as const)('of %j is %s: the highest counts, names are compared exactly', (groups, role) => {
    expect(roleOf(groups, roleOfGroup)).toBe(role);
  });

  it.each([
    ['groups', { groups: ['a', 7, null, 'b'] }, ['a', 'b']],
    ['groups', { groups: 'a' }, ['a']],
    ['groups', {}, []],
    ['realm_access.roles', { realm_access: { roles: ['a'] } }, ['a']],
    ['https://example.com/groups', { 'https://example.com/groups': ['a'] }, ['a']],
    ['__proto__.groups', { groups: ['a'] }, []],
    ['constructor.name', {}, []],
  ] as const)('claim %s of %j', (claim, given, groups) => {
    expect(readGroups(given, claim)).toEqual(groups);
  });

  it('a whole name goes before a path', () => {
    expect(claimAt({ 'a.b': 1, a: { b: 2 } }, 'a.b')).toBe(1);
  });

  it.each([
    [{}, { kind: 'keep', roleOfNew: undefined }],
    [{ MILLRACE_OIDC_DEFAULT_ROLE: 'viewer' }, { kind: 'keep', roleOfNew: 'viewer' }],
    [{ MILLRACE_OIDC_ROLES: 'staff=editor' }, { kind: 'set', role: 'editor' }],
    [
      { MILLRACE_OIDC_ROLES: 'x=admin', MILLRACE_OIDC_DEFAULT_ROLE: 'viewer' },
      { kind: 'set', role: 'viewer' },
    ],
  ])('with %j an account has %j', (env, role) => {
    expect(readAccount(claims, settingsOf(env))).toEqual({
      issuer,
      subject: 'u1',
      email: 'Ada@Example.com',
      firstName: 'Ada Lovelace',
      role,
    });
  });

  it.each([
    ['no group that gives a role', { groups: ['other'] }, /None of your groups/],
    ['no claim', {}, /sent no groups/],
    ['more groups than the provider sends', { _claim_names: { groups: 'src1' } }, /more groups than ID sends/],
  ])('are refused with %s, and the page says why', (_name, more, sentence) => {
    const { groups: _groups, ...without } = claims;
    const { role } = readAccount({ ...without, ...more }, settingsOf({ MILLRACE_OIDC_ROLES: 'admins=admin' }));
    expect(role).toMatchObject({ kind: 'none', detail: expect.stringMatching(sentence) });
  });
});

describe('the address of an account', () => {
  const domains = { MILLRACE_OIDC_ALLOWED_DOMAINS: 'example.com, Example.org' };

  it.each([
    [{ email: 'ada@example.com' }, 'keep'],
    [{ email: 'ada@EXAMPLE.ORG' }, 'keep'],
    [{ email: 'ada@sub.example.com' }, 'oidc_domain_not_allowed'],
    [{ email: 'ada@evil-example.com' }, 'oidc_domain_not_allowed'],
    [{ email: 'ada@example.com.evil.test' }, 'oidc_domain_not_allowed'],
    [{ email: 'ada@example.com@evil.test' }, 'oidc_email_missing'],
    [{ email: 'ada' }, 'oidc_email_missing'],
    [{ email: ['ada@example.com'] }, 'oidc_email_missing'],
    [{ email: `${'a'.repeat(250)}@example.com` }, 'oidc_email_missing'],
    [{ email: undefined }, 'oidc_email_missing'],
  ])('%j: %s', (more, outcome) => {
    expect(codeOf({ ...claims, ...more }, domains)).toBe(outcome);
  });

  it.each([
    [true, 'keep'],
    ['true', 'keep'],
    [1, 'keep'],
    ['1', 'keep'],
    [false, 'oidc_email_unverified'],
    ['false', 'oidc_email_unverified'],
    [undefined, 'oidc_email_unverified'],
    [{}, 'oidc_email_unverified'],
  ])('verified as %j: %s', (verified, outcome) => {
    expect(codeOf({ ...claims, email_verified: verified })).toBe(outcome);
  });

  it('is verified by the claim that the settings name, and no other', () => {
    const env = { MILLRACE_OIDC_EMAIL_VERIFIED_CLAIM: 'xms_edov' };
    expect(codeOf({ ...claims, email_verified: undefined, xms_edov: true }, env)).toBe('keep');
    expect(codeOf(claims, env)).toBe('oidc_email_unverified');
  });
});
