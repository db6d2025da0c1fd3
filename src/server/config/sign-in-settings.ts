/** Settings of signing in: docs/guides/sign-in.md. Part of the table in settings.ts. */
export const signInSettings = {
  oidcIssuer: {
    env: 'MILLRACE_OIDC_ISSUER',
    type: 'string',
    default: '',
    help: 'Issuer of the OpenID Connect provider that users sign in with, as in its discovery document (https://…). Empty disables it.',
  },
  oidcClientId: {
    env: 'MILLRACE_OIDC_CLIENT_ID',
    type: 'string',
    default: '',
    help: 'Client id that the provider gave to this service. Required with MILLRACE_OIDC_ISSUER.',
  },
  oidcClientSecret: {
    env: 'MILLRACE_OIDC_CLIENT_SECRET',
    type: 'string',
    default: '',
    secret: true,
    help: 'Client secret that the provider gave to this service. Empty for a public client, which relies on PKCE alone.',
  },
  oidcName: {
    env: 'MILLRACE_OIDC_NAME',
    type: 'string',
    default: 'SSO',
    help: 'Name of the provider on the button: Sign in with NAME.',
  },
  oidcScopes: {
    env: 'MILLRACE_OIDC_SCOPES',
    type: 'string',
    default: 'openid email profile',
    help: 'Scopes to request, separated by spaces; `openid` is required.',
  },
  oidcAllowedDomains: {
    env: 'MILLRACE_OIDC_ALLOWED_DOMAINS',
    type: 'string',
    default: '',
    help: 'Comma-separated domains of email addresses that may sign in, without their subdomains. Empty for any.',
  },
  oidcEmailVerifiedClaim: {
    env: 'MILLRACE_OIDC_EMAIL_VERIFIED_CLAIM',
    type: 'string',
    default: 'email_verified',
    help: 'Claim that must be true for the address to count as verified; `xms_edov` for Microsoft Entra ID.',
  },
  oidcGroupsClaim: {
    env: 'MILLRACE_OIDC_GROUPS_CLAIM',
    type: 'string',
    default: 'groups',
    help: 'Claim with the groups of a user; dots lead into objects, as in `realm_access.roles`.',
  },
  oidcRoles: {
    env: 'MILLRACE_OIDC_ROLES',
    type: 'string',
    default: '',
    help: 'Comma-separated roles of groups, as `group=role`; the highest role counts, at every sign-in. Empty keeps the roles that admins set.',
  },
  oidcDefaultRole: {
    env: 'MILLRACE_OIDC_DEFAULT_ROLE',
    type: 'choice',
    default: 'none',
    choices: ['none', 'viewer', 'editor', 'admin'],
    help: 'Role of users without a group of MILLRACE_OIDC_ROLES; `none` refuses them. Without MILLRACE_OIDC_ROLES, the role of new users; `none` admits only invited ones.',
  },
} as const;
