import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { userParamsSchema } from './users.ts';

const time = Type.String({ format: 'date-time' });

/** A console session of a user. */
export const sessionSchema = Type.Object({
  id: Type.String({ format: 'uuid' }),
  created_at: time,
  last_used_at: orNull(time, 'To five minutes; null: not since it was opened.'),
  expires_at: time,
  browser: Type.String({ description: 'Such as `Firefox on Linux`, as the browser said; empty: it said nothing.' }),
  address: Type.String({ description: 'Network address that signed in; empty: not known.' }),
  opened_by: Type.Enum(['link', 'key'], { description: 'A one-time link, or a personal API key, with which it ends.' }),
  is_current: Type.Boolean({ description: 'The session that asks.' }),
});
export type SessionRecord = Static<typeof sessionSchema>;

export const sessionListSchema = Type.Array(sessionSchema);

const session = Type.String({ description: 'Id of the session.' });
export const sessionParamsSchema = Type.Object({ session });
export const userSessionParamsSchema = Type.Object({ ...userParamsSchema.properties, session });

export const endSessionsQuerySchema = Type.Object({
  keep_current: Type.Optional(Type.Boolean({ default: false, description: 'Stay signed in where this is asked.' })),
});
