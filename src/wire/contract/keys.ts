import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { allScopes } from './scopes.ts';

export const personalApiKeysMax = 10;

const id = Type.String({ format: 'uuid' });
const label = Type.String({ minLength: 1, maxLength: 40, description: 'Purpose of the key.' });
const scopes = Type.Array(Type.String({ stated: { enum: ['*', ...allScopes] } }), {
  minItems: 1,
  maxItems: 100,
  description: '`<object>:read`, `<object>:write` or `*`. Write implies read.',
});
const scopedTeams = orNull(
  Type.Array(Type.Integer(), { maxItems: 1000 }),
  'Ids of the projects that the key can access. Null or empty for all projects of the organisation.',
);
const expiresAt = orNull(
  Type.String({ format: 'date-time' }),
  'Time in the future at which the key expires. Null for never.',
);
const nullableTime = orNull(Type.String({ format: 'date-time' }));

/** A personal API key in lists, without its value. */
export const personalApiKeySchema = Type.Object({
  id,
  label: Type.String(),
  mask_value: Type.String({ description: 'First and last four characters of the key.' }),
  scopes: Type.Array(Type.String()),
  scoped_teams: orNull(Type.Array(Type.Integer())),
  scoped_organizations: Type.Null(),
  user_id: Type.Integer(),
  created_at: Type.String({ format: 'date-time' }),
  expires_at: nullableTime,
  last_used_at: nullableTime,
  last_rolled_at: nullableTime,
});
export type PersonalApiKeyRecord = Static<typeof personalApiKeySchema>;

/** Response to create and roll, the only operations that return the value. */
export const personalApiKeyWithValueSchema = Type.Object({
  ...personalApiKeySchema.properties,
  value: Type.String({ description: 'The key. It is only shown once.' }),
});

export const personalApiKeyCreateSchema = Type.Object({
  label,
  scopes,
  scoped_teams: Type.Optional(scopedTeams),
  expires_at: Type.Optional(expiresAt),
});

export const personalApiKeyParamsSchema = Type.Object({ id: Type.String({ description: 'Id of the key.' }) });
