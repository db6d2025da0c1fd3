import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { userParamsSchema } from './users.ts';

const time = Type.String({ format: 'date-time' });

/** A console session of a user. */
export const sessionSchema = Type.Object({
  id: Type.String({ format: 'uuid' }),
  created_at: time,
  last_used_at: orNull(time, 'Last use, accurate to five minutes. Null if not used since sign-in.'),
  expires_at: time,
  browser: Type.String({
    description: 'Browser, e.g. `Firefox on Linux`, from its User-Agent header. Empty if not sent.',
  }),
  address: Type.String({ description: 'Network address of the sign-in. Empty if not known.' }),
  opened_by: Type.Enum(['link', 'key', 'oidc'], {
    description:
      'How it was opened: with a one-time link, with a personal API key, in which case it ends with the key, or with the OpenID Connect ' +
      'provider.',
  }),
  is_current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
});
export type SessionRecord = Static<typeof sessionSchema>;

export const sessionListSchema = Type.Array(sessionSchema);

const session = Type.String({ description: 'Id of the session.' });
export const sessionParamsSchema = Type.Object({ session });
export const userSessionParamsSchema = Type.Object({ ...userParamsSchema.properties, session });

export const endSessionsQuerySchema = Type.Object({
  keep_current: Type.Optional(
    Type.Boolean({ default: false, description: 'Whether to keep the session of this request.' }),
  ),
});
