import { roles, type Role } from '../../wire/contract/roles.ts';
import type { OidcAccount, OidcRole } from '../../stores/metadata/oidc-users.ts';
import type { OidcSettings } from './oidc-settings.ts';
import { SignInError } from './sign-in-error.ts';

export type Claims = Readonly<Record<string, unknown>>;

/** An account of the provider that may sign in. */
export interface Account extends OidcAccount {
  readonly role: RoleChoice;
}

/** The role that the provider gives; `none` refuses for the reason in `detail`. */
export type RoleChoice =
  | Exclude<OidcRole, { readonly kind: 'none' }>
  | { readonly kind: 'none'; readonly detail: string };

const emailForm = /^[^\s@]+@[^\s@]+$/;
const emailCharsMax = 254;
const nameCharsMax = 150;
const groupsMax = 10_000;

/**
 * Reads the claims of an ID token whose signature, issuer, audience, times and nonce have been checked.
 * @throws SignInError oidc_email_missing, oidc_email_unverified, oidc_domain_not_allowed
 */
export function readAccount(claims: Claims, settings: OidcSettings): Account {
  const email = readEmail(claims, settings);
  return {
    issuer: textOf(claims['iss']),
    subject: textOf(claims['sub']),
    email,
    firstName: readName(claims, email),
    role: chooseRole(claims, settings),
  };
}

function readEmail(claims: Claims, { emailVerifiedClaim, allowedDomains, name }: OidcSettings): string {
  const email = textOf(claims['email']).trim();
  if (!emailForm.test(email) || email.length > emailCharsMax) {
    throw new SignInError(
      'oidc_email_missing',
      `${name} sent no email address for your account. Ask an admin of ${name} to add one, and to release it to this application.`,
    );
  }
  if (!isTrue(claimAt(claims, emailVerifiedClaim))) {
    throw new SignInError(
      'oidc_email_unverified',
      `${name} does not confirm that ${email} is yours. Verify the address there, then sign in again.`,
      { reason: `claim ${emailVerifiedClaim} is not true` },
    );
  }
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase();
  if (allowedDomains.length > 0 && !allowedDomains.includes(domain)) {
    throw new SignInError(
      'oidc_domain_not_allowed',
      `Addresses of ${domain} are not allowed here. Sign in with your account of ${allowedDomains.join(' or ')}.`,
    );
  }
  return email;
}

/** Some providers send booleans as text or numbers. */
function isTrue(value: unknown): boolean {
  return value === true || value === 'true' || value === 1 || value === '1';
}

function readName(claims: Claims, email: string): string {
  const given = textOf(claims['name']).trim() || textOf(claims['given_name']).trim();
  return (given || email.slice(0, email.indexOf('@'))).slice(0, nameCharsMax);
}

function chooseRole(claims: Claims, { roleOfGroup, defaultRole, groupsClaim, name }: OidcSettings): RoleChoice {
  if (roleOfGroup.size === 0) return { kind: 'keep', roleOfNew: defaultRole };
  const role = roleOf(readGroups(claims, groupsClaim), roleOfGroup) ?? defaultRole;
  if (role !== undefined) return { kind: 'set', role };
  const groups = claimAt(claims, groupsClaim);
  const found =
    groups !== undefined
      ? 'None of your groups gives you a role.'
      : areOmitted(claims, groupsClaim)
        ? `You are in more groups than ${name} sends, so it sent none.`
        : `${name} sent no groups for your account.`;
  return {
    kind: 'none',
    detail: `${found} Ask an admin of ${name} to add you to a group that may use Millrace, then sign in again.`,
  };
}

/** Returns the highest role that the groups give. */
export function roleOf(groups: readonly string[], roleOfGroup: ReadonlyMap<string, Role>): Role | undefined {
  const given = new Set(groups.map((group) => roleOfGroup.get(group)));
  return roles.findLast((role) => given.has(role));
}

/** Groups are a list of names, or one name. */
export function readGroups(claims: Claims, claim: string): string[] {
  const value = claimAt(claims, claim);
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.slice(0, groupsMax).filter((each) => typeof each === 'string');
}

/** Too many groups are replaced with a reference to them. */
function areOmitted(claims: Claims, claim: string): boolean {
  const references = claims['_claim_names'];
  return typeof references === 'object' && references !== null && claim in references;
}

/** Finds a claim by its whole name, which may contain dots as those of Auth0 do, else by the path that the dots name. */
export function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Claims)[name];
  }
  return value;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
