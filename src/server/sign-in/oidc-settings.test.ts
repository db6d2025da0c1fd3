import { describe, expect, it } from 'vitest';
import { ConfigError, loadSettings } from '../config/load.ts';
import { readOidcSettings } from './oidc-settings.ts';

const base = { MILLRACE_OIDC_ISSUER: 'https://id.example.com', MILLRACE_OIDC_CLIENT_ID: 'millrace' };

function problemsOf(env: Readonly<Record<string, string>>): readonly string[] {
  try {
    readOidcSettings(loadSettings({ env: { ...base, ...env } }).settings);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('settings of the provider', () => {
  it('there is no sign-in without an issuer', () => {
    expect(readOidcSettings(loadSettings({ env: {} }).settings)).toBeUndefined();
  });

  it('with issuer and client id alone, invited users can sign in', () => {
    expect(readOidcSettings(loadSettings({ env: base }).settings)).toMatchObject({
      clientSecret: '',
      name: 'SSO',
      scope: 'openid email profile',
      allowedDomains: [],
      roleOfGroup: new Map(),
      defaultRole: undefined,
    });
  });

  it('groups with paths, spaces and equal signs have roles', () => {
    const roles = '/company/data team=editor, a=b=viewer,6f0c0f5e-7d4a-4a9f-8f9b-0c7f1f0d2c11=admin';
    const settings = readOidcSettings(loadSettings({ env: { ...base, MILLRACE_OIDC_ROLES: roles } }).settings);
    expect([...(settings?.roleOfGroup ?? [])]).toEqual([
      ['/company/data team', 'editor'],
      ['a=b', 'viewer'],
      ['6f0c0f5e-7d4a-4a9f-8f9b-0c7f1f0d2c11', 'admin'],
    ]);
  });

  it.each([
    [{ MILLRACE_OIDC_ISSUER: 'http://id.example.com' }, /MILLRACE_OIDC_ISSUER: expected an https address/],
    [{ MILLRACE_OIDC_ISSUER: 'id.example.com' }, /MILLRACE_OIDC_ISSUER: expected an https address/],
    [{ MILLRACE_OIDC_ISSUER: 'https://login.microsoftonline.com/common/v2.0' }, /the issuer of one tenant/],
    [{ MILLRACE_OIDC_CLIENT_ID: '' }, /MILLRACE_OIDC_CLIENT_ID: expected the client id/],
    [{ MILLRACE_OIDC_SCOPES: 'email' }, /MILLRACE_OIDC_SCOPES: expected openid/],
    [{ MILLRACE_OIDC_ROLES: 'admins' }, /MILLRACE_OIDC_ROLES: expected group=role .*got: "admins"/],
    [{ MILLRACE_OIDC_ROLES: 'admins=owner' }, /MILLRACE_OIDC_ROLES: expected group=role/],
    [{ MILLRACE_OIDC_ROLES: 'CN=admins,OU=groups=admin' }, /got: "CN=admins"/],
    [{ MILLRACE_OIDC_ALLOWED_DOMAINS: '@example.com' }, /MILLRACE_OIDC_ALLOWED_DOMAINS: expected domains/],
    [
      { MILLRACE_OIDC_ISSUER: 'https://accounts.google.com', MILLRACE_OIDC_DEFAULT_ROLE: 'viewer' },
      /every Google account could sign in/,
    ],
  ])('%j is refused with one sentence', (env, sentence) => {
    expect(problemsOf(env)).toEqual([expect.stringMatching(sentence)]);
  });

  it('a provider on this machine may use http', () => {
    expect(problemsOf({ MILLRACE_OIDC_ISSUER: 'http://127.0.0.1:8080/realms/test' })).toEqual([]);
  });
});
