import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { roles } from './roles.ts';

const time = Type.String({ format: 'date-time' });
const role = Type.Enum([...roles], {
  description: 'viewer: looks; editor: changes what is in projects; admin: everything, users included.',
});
const email = Type.String({
  minLength: 3,
  maxLength: 254,
  pattern: '^[^\\s@]+@[^\\s@]+$',
  description: 'Tells the users of an organisation apart; nothing is sent to it.',
});
const firstName = Type.String({
  minLength: 1,
  maxLength: 150,
  stated: { pattern: '\\S' },
  description: 'Name to show.',
});

/** A user as the users of the organisation see each other. */
export const userSchema = Type.Object({
  id: Type.Integer(),
  uuid: Type.String({ format: 'uuid' }),
  first_name: Type.String(),
  email: Type.String({ description: 'Empty: not known.' }),
  role,
  is_active: Type.Boolean({ description: 'False: neither sessions nor keys of the user work.' }),
  deactivated_at: orNull(time),
  date_joined: time,
  last_seen_at: orNull(time, 'Last use of a session or key that there still is; null: not known.'),
  sessions: Type.Integer({ minimum: 0, description: 'Sessions that still work.' }),
  personal_api_keys: Type.Integer({ minimum: 0, description: 'Keys, expired ones included.' }),
});
export type UserRecord = Static<typeof userSchema>;

export const userListSchema = Type.Array(userSchema);

export const userParamsSchema = Type.Object({
  user_id: Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'Id of the user.' }),
});

export const userCreateSchema = Type.Object({
  email,
  first_name: Type.Optional(firstName),
  role,
});

export const userUpdateSchema = Type.Object({
  email: Type.Optional(email),
  first_name: Type.Optional(firstName),
  role: Type.Optional(role),
  is_active: Type.Optional(
    Type.Boolean({ description: 'False signs the user out and stops the keys; true lets in again.' }),
  ),
});

/** A link that signs in whoever opens it, once. */
export const signInLinkSchema = Type.Object({
  sign_in_url: Type.String({ description: 'Works once. It is shown this once.' }),
  sign_in_expires_at: time,
});
export type SignInLink = Static<typeof signInLinkSchema>;

/** The answer of an invitation: the user and the link to hand over. */
export const invitedUserSchema = Type.Object({ ...userSchema.properties, ...signInLinkSchema.properties });
