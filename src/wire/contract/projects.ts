import { Type, type Static } from 'typebox';
import { stated } from './stated.ts';

/** A project in API responses. */
export const projectSchema = Type.Object({
  id: Type.Integer(),
  uuid: Type.String({ format: 'uuid' }),
  name: Type.String(),
  organization: Type.String({ format: 'uuid', description: 'Id of the organisation.' }),
  api_token: Type.String({ description: 'Project key (phc_…). It is public and can only send events.' }),
  timezone: Type.String({ description: 'IANA name, e.g. Europe/Paris.' }),
  spread: Type.Integer({ description: "Number of event log slots over which the project's events are spread." }),
  created_at: Type.String({ format: 'date-time' }),
});
export type ProjectRecord = Static<typeof projectSchema>;

const name = Type.String({
  minLength: 1,
  maxLength: 200,
  stated: { pattern: '\\S' },
  description: 'Display name; must not be blank.',
});
const timezone = Type.String({
  ...stated.timeZone,
  minLength: 1,
  maxLength: 100,
  description: 'IANA name, e.g. Europe/Paris. Default UTC.',
});

export const projectCreateSchema = Type.Object({ name, timezone: Type.Optional(timezone) });
const spread = Type.Integer({
  minimum: 1,
  maximum: 10_000,
  description:
    'Number of event log slots over which events are spread by distinct_id, at most as many as the cluster has, for a project that ' +
    'is too large for one. Returns 409 beyond that, and while transformations that keep values between events are enabled.',
});

export const projectUpdateSchema = Type.Object({
  name: Type.Optional(name),
  timezone: Type.Optional(timezone),
  spread: Type.Optional(spread),
});
