import { Type, type Static } from 'typebox';
import { stated } from './stated.ts';

/** A project as the API shows it. */
export const projectSchema = Type.Object({
  id: Type.Integer(),
  uuid: Type.String({ format: 'uuid' }),
  name: Type.String(),
  organization: Type.String({ format: 'uuid', description: 'Id of the organisation.' }),
  api_token: Type.String({ description: 'Project key (phc_…): public, good for sending events only.' }),
  timezone: Type.String({ description: 'IANA name, e.g. Europe/Paris.' }),
  spread: Type.Integer({ description: 'Slots of the event log that its events are spread over; 1: all are in one.' }),
  created_at: Type.String({ format: 'date-time' }),
});
export type ProjectRecord = Static<typeof projectSchema>;

const name = Type.String({
  minLength: 1,
  maxLength: 200,
  stated: { pattern: '\\S' },
  description: 'Name to show; not only spaces.',
});
const timezone = Type.String({
  ...stated.timeZone,
  minLength: 1,
  maxLength: 100,
  description: 'IANA name, e.g. Europe/Paris; UTC if absent.',
});

export const projectCreateSchema = Type.Object({ name, timezone: Type.Optional(timezone) });
const spread = Type.Integer({
  minimum: 1,
  maximum: 10_000,
  description:
    'Slots of the event log that its events are spread over by distinct_id, at most as many as the cluster has; for a project that is ' +
    'too much for one. Refused (409) beyond that, and while transformations are enabled that keep values between events.',
});

export const projectUpdateSchema = Type.Object({
  name: Type.Optional(name),
  timezone: Type.Optional(timezone),
  spread: Type.Optional(spread),
});
