import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { roles } from './roles.ts';

const time = Type.String({ format: 'date-time' });
const role = Type.Enum([...roles], {
  description: '`viewer`: reads. `editor`: changes the content of projects. `admin`: everything, including users.',
});
const email = Type.String({
  minLength: 3,
  maxLength: 254,
  pattern: '^[^\\s@]+@[^\\s@]+$',
  description: 'Email address, unique in the organisation. Nothing is sent to it.',
});
const firstName = Type.String({
  minLength: 1,
  maxLength: 150,
  stated: { pattern: '\\S' },
  description: 'Display name.',
});

/** A user in the list of the organisation's users. */
export const userSchema = Type.Object({
  id: Type.Integer(),
  uuid: Type.String({ format: 'uuid' }),
  first_name: Type.String(),
  email: Type.String({ description: 'Empty if not known.' }),
  role,
  is_active: Type.Boolean({ description: "False disables the user's sessions and keys." }),
  deactivated_at: orNull(time),
  date_joined: time,
  last_seen_at: orNull(time, 'Last use of an existing session or key. Null if not known.'),
  sessions: Type.Integer({ minimum: 0, description: 'Number of valid sessions.' }),
  personal_api_keys: Type.Integer({ minimum: 0, description: 'Number of keys, including expired ones.' }),
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
    Type.Boolean({ description: 'False signs the user out and disables the keys; true enables them again.' }),
  ),
});

/** A single-use sign-in link. */
export const signInLinkSchema = Type.Object({
  sign_in_url: Type.String({ description: 'Single-use link. It is only shown once.' }),
  sign_in_expires_at: time,
});
export type SignInLink = Static<typeof signInLinkSchema>;

/** Response to an invitation: the user and their sign-in link. */
export const invitedUserSchema = Type.Object({ ...userSchema.properties, ...signInLinkSchema.properties });
