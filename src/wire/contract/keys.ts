import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { allScopes } from './scopes.ts';

export const personalApiKeysMax = 10;

const id = Type.String({ format: 'uuid' });
const label = Type.String({ minLength: 1, maxLength: 40, description: 'What the key is for.' });
const scopes = Type.Array(Type.String({ stated: { enum: ['*', ...allScopes] } }), {
  minItems: 1,
  maxItems: 100,
  description: '`<object>:read`, `<object>:write` or `*`; write implies read.',
});
const scopedTeams = orNull(
  Type.Array(Type.Integer(), { maxItems: 1000 }),
  'Ids of the only projects that the key may see; null or empty: all of the organisation.',
);
const expiresAt = orNull(
  Type.String({ format: 'date-time' }),
  'When the key stops working, a time in the future; null: never.',
);
const nullableTime = orNull(Type.String({ format: 'date-time' }));

/** A personal API key as lists show it: never with its value. */
export const personalApiKeySchema = Type.Object({
  id,
  label: Type.String(),
  mask_value: Type.String({ description: 'First and last four characters.' }),
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

/** The answer of create and roll: the only ones that carry the value. */
export const personalApiKeyWithValueSchema = Type.Object({
  ...personalApiKeySchema.properties,
  value: Type.String({ description: 'The key itself. It is shown this once.' }),
});

export const personalApiKeyCreateSchema = Type.Object({
  label,
  scopes,
  scoped_teams: Type.Optional(scopedTeams),
  expires_at: Type.Optional(expiresAt),
});

export const personalApiKeyParamsSchema = Type.Object({ id: Type.String({ description: 'Id of the key.' }) });
