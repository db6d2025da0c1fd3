import { ConfigError } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import { isRole, roles, type Role } from '../../wire/contract/roles.ts';

/** How users sign in with an OpenID Connect provider. */
export interface OidcSettings {
  readonly issuer: URL;
  readonly clientId: string;
  /** Empty for a public client. */
  readonly clientSecret: string;
  readonly name: string;
  readonly scope: string;
  /** In lower case; empty for any. */
  readonly allowedDomains: readonly string[];
  readonly emailVerifiedClaim: string;
  readonly groupsClaim: string;
  /** Role by group; empty if admins set the roles. */
  readonly roleOfGroup: ReadonlyMap<string, Role>;
  readonly defaultRole: Role | undefined;
}

/**
 * Returns `undefined` without an issuer.
 * @throws ConfigError with every problem
 */
export function readOidcSettings(settings: Settings): OidcSettings | undefined {
  if (settings.oidcIssuer === '') return undefined;
  const problems: string[] = [];
  const issuer = readIssuer(settings.oidcIssuer, problems);
  if (settings.oidcClientId === '') {
    problems.push('MILLRACE_OIDC_CLIENT_ID: expected the client id that the provider gave to this service, got none');
  }
  const scope = settings.oidcScopes.trim().split(/\s+/).join(' ');
  if (!scope.split(' ').includes('openid')) {
    problems.push(
      `MILLRACE_OIDC_SCOPES: expected openid among the scopes, got: ${JSON.stringify(settings.oidcScopes)}`,
    );
  }
  const allowedDomains = readDomains(settings.oidcAllowedDomains, problems);
  const roleOfGroup = readRoles(settings.oidcRoles, problems);
  const defaultRole = settings.oidcDefaultRole === 'none' ? undefined : settings.oidcDefaultRole;
  if (issuer?.host === 'accounts.google.com' && defaultRole !== undefined && allowedDomains.length === 0) {
    problems.push(
      'MILLRACE_OIDC_ALLOWED_DOMAINS: expected the domains of the company, got none; with MILLRACE_OIDC_DEFAULT_ROLE every ' +
        'Google account could sign in',
    );
  }
  if (problems.length > 0 || issuer === undefined) throw new ConfigError(problems);
  return {
    issuer,
    clientId: settings.oidcClientId,
    clientSecret: settings.oidcClientSecret,
    name: settings.oidcName,
    scope,
    allowedDomains,
    emailVerifiedClaim: settings.oidcEmailVerifiedClaim,
    groupsClaim: settings.oidcGroupsClaim,
    roleOfGroup,
    defaultRole,
  };
}

const loopback = new Set(['127.0.0.1', '[::1]', 'localhost']);
const sharedTenant = /^https:\/\/login\.microsoftonline\.com\/(common|organizations|consumers)\//;

function readIssuer(text: string, problems: string[]): URL | undefined {
  const url = URL.parse(text);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && loopback.has(url.hostname));
  if (url === null || !isSafe || url.search !== '' || url.hash !== '') {
    problems.push(
      `MILLRACE_OIDC_ISSUER: expected an https address without query (http only on this machine), got: ${JSON.stringify(text)}`,
    );
    return undefined;
  }
  if (sharedTenant.test(url.href)) {
    problems.push(
      `MILLRACE_OIDC_ISSUER: expected the issuer of one tenant (https://login.microsoftonline.com/TENANT-ID/v2.0), got: ${text}`,
    );
  }
  return url;
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function readDomains(text: string, problems: string[]): string[] {
  const domains = listOf(text).map((domain) => domain.toLowerCase());
  const wrong = domains.find((domain) => !/^[^\s@*]+$/.test(domain));
  if (wrong !== undefined) {
    problems.push(`MILLRACE_OIDC_ALLOWED_DOMAINS: expected domains such as example.com, got: ${JSON.stringify(wrong)}`);
  }
  return domains;
}

function readRoles(text: string, problems: string[]): Map<string, Role> {
  const found = new Map<string, Role>();
  for (const item of listOf(text)) {
    const equals = item.lastIndexOf('=');
    const group = item.slice(0, Math.max(equals, 0)).trim();
    const role = item.slice(equals + 1).trim();
    if (group !== '' && isRole(role)) {
      found.set(group, role);
      continue;
    }
    const expected = `group=role with a role of ${roles.join(', ')}`;
    problems.push(`MILLRACE_OIDC_ROLES: expected ${expected}, got: ${JSON.stringify(item)}`);
  }
  return found;
}
