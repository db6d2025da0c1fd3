import type { Role } from '../../../wire/contract/roles.ts';
import { bigint, flag, integer, serial, table, text } from './table.ts';

export type AgreementState = 'filed' | 'approved' | 'rejected' | 'ended';

/** Organisations, users, projects, credentials and the activity log. */
export const accountTables = {
  organizations: table({
    id: text().key(),
    name: text(),
    created_at: text(),
  }),
  users: table(
    {
      id: serial(),
      uuid: text().unique(),
      organization_id: text().partOf('organizations.id'),
      first_name: text(),
      email: text(),
      created_at: text(),
      role: text<Role>().default('admin'),
      /** Since when the user is deactivated. Null if active. */
      deactivated_at: text().nullable(),
      /** Issuer and subject of the account at the OpenID Connect provider. Null until the user has signed in with it. */
      oidc_issuer: text().nullable(),
      oidc_subject: text().nullable(),
    },
    {
      indexes: {
        users_by_organization: ['organization_id'],
        users_by_oidc_account: { columns: ['oidc_issuer', 'oidc_subject'], unique: true },
      },
    },
  ),
  /** Console sessions. */
  sessions: table(
    {
      /** `keyHash` of the cookie value. */
      id_hash: text().key(),
      user_id: integer().partOf('users.id'),
      /** `keyHash` of the personal key that opened the session. Null if a link did. */
      key_hash: text().nullable(),
      created_at: text(),
      expires_at: text(),
      /** Identifies the session in lists; gives no access. */
      id: text().backfilled(''),
      /** `Firefox on Linux`, from the user agent of the sign-in. */
      browser: text().backfilled(''),
      /** Network address of the sign-in. */
      address: text().backfilled(''),
      last_used_at: text().nullable(),
      /** Issuer of the OpenID Connect provider that opened the session. Null if a link or a key did. */
      oidc_issuer: text().nullable(),
      /** ID token of the sign-in, which the provider may request to sign out. It opens nothing. */
      oidc_id_token: text().nullable(),
      /** JSON array of scopes, of the link that opened the session. Null for every scope, or those of the key of `key_hash`. */
      scopes: text().nullable(),
    },
    { indexes: { sessions_by_id: { columns: ['id'], unique: true }, sessions_by_user: ['user_id'] } },
  ),
  /** One-time links to the console. */
  login_links: table({
    /** `keyHash` of the token. */
    token_hash: text().key(),
    user_id: integer().partOf('users.id'),
    created_at: text(),
    expires_at: text(),
    used_at: text().nullable(),
    /** JSON array of the scopes of the key that created the link. Null for every scope. */
    scopes: text().nullable(),
  }),
  /** Sign-ins that a browser has started at the OpenID Connect provider. */
  oidc_attempts: table({
    /** `keyHash` of the state. */
    state_hash: text().key(),
    /** `keyHash` of the cookie of the browser that started it. */
    browser_hash: text(),
    /** Path to open afterwards. */
    return_to: text(),
    created_at: text(),
    expires_at: text(),
  }),
  projects: table(
    {
      id: serial(),
      uuid: text().unique(),
      organization_id: text().partOf('organizations.id'),
      name: text(),
      /** `phc_…`: public by design, write-only. */
      api_token: text().unique(),
      timezone: text(),
      created_at: text(),
      updated_at: text(),
      /** Number of slots that the project's events are spread over. */
      spread: integer().default(1),
      /** What `spread` was until `spread_at`. */
      spread_before: integer().default(1),
      /** Milliseconds since the epoch by the database's clock. */
      spread_at: bigint().default(0),
      /** The largest `spread` ever: events may wait in that many slots. Above 1, slots share persons and groups. */
      spread_max: integer().default(1),
    },
    { indexes: { projects_by_organization: ['organization_id'] } },
  ),
  /** Limits that a project has instead of the defaults; project-limits.ts. */
  project_limits: table({
    project_id: integer().key().partOf('projects.id'),
    /** JSON: LimitOverrides. */
    limits: text(),
    updated_at: text(),
  }),
  /** How long events are kept; retention-policies.ts. */
  retention_policies: table({
    project_id: integer().key().partOf('projects.id'),
    /** JSON: RetentionPolicy. */
    policy: text(),
    updated_at: text(),
    /** When the last pass ended or the policy was last set, whichever is later. */
    passed_at: text(),
    /** JSON: RetentionPass. */
    last_pass: text().nullable(),
  }),
  personal_api_keys: table(
    {
      id: text().key(),
      user_id: integer().partOf('users.id'),
      label: text(),
      /** `keyHash` of the key; the key itself is never stored. */
      secure_value: text().unique(),
      mask_value: text(),
      /** JSON array of scopes. */
      scopes: text(),
      /** JSON array of project ids. Null for every project of the organisation. */
      scoped_projects: text().nullable(),
      expires_at: text().nullable(),
      last_used_at: text().nullable(),
      last_rolled_at: text().nullable(),
      created_at: text(),
    },
    { indexes: { personal_api_keys_by_user: ['user_id', 'created_at'] } },
  ),
  activity_log: table(
    {
      id: text().key(),
      project_id: integer().nullable(),
      organization_id: text(),
      scope: text(),
      item_id: text(),
      activity: text(),
      user_id: integer().nullable(),
      /** Name of a user that has been deleted since. */
      user_name: text().nullable(),
      /** Personal key used, if any. */
      key_id: text().nullable(),
      is_system: flag(),
      request_id: text().nullable(),
      created_at: text(),
      /** Name of the item at that time. */
      name: text(),
      /** JSON array of {field, action, before, after}; secrets masked. */
      changes: text(),
      /** JSON of the record after the change (before it, for a deletion), for `?at=`. */
      snapshot: text(),
    },
    {
      indexes: {
        activity_log_by_item: ['project_id', 'scope', 'item_id', 'created_at'],
        // A project's log is listed newest first with the organisation's entries in between.
        activity_log_by_time: ['organization_id', 'created_at', 'id'],
      },
    },
  ),
  idempotency_keys: table(
    {
      /** `keyHash` of principal, method, path and key. */
      key_hash: text().key(),
      /** SHA-256 of the body: the same key with another body is refused. */
      body_hash: text(),
      status: integer(),
      headers: text(),
      body: text(),
      created_at: text(),
    },
    { indexes: { idempotency_keys_by_age: ['created_at'] } },
  ),
  /** Agreements about historical imports. */
  historical_migrations: table(
    {
      id: text().key(),
      project_id: integer().partOf('projects.id'),
      source: text(),
      method: text(),
      total_events: bigint(),
      events_per_second: bigint(),
      state: text<AgreementState>(),
      note: text(),
      created_at: text(),
      decided_at: text().nullable(),
    },
    { indexes: { historical_migrations_by_project: ['project_id', 'created_at'] } },
  ),
};
