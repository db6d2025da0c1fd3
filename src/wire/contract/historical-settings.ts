import { Type } from 'typebox';
import { orNull } from './or-null.ts';

/** Limits of a project without an agreement, where agreements are required. */
export const freeEventsPerMinute = 10_000;
export const freeEventsInAll = 20_000_000;

export const agreementModes = ['optional', 'required'] as const;
export type AgreementMode = (typeof agreementModes)[number];

/** Current limits of a project's historical events. */
export const historicalSettingsSchema = Type.Object({
  mode: Type.Enum([...agreementModes], {
    description:
      '`optional`: historical events are not limited. `required`: an approved agreement is needed beyond the free events.',
  }),
  free_events_per_minute: Type.Integer({ description: 'Free events per minute without an agreement, if `required`.' }),
  free_events_in_all: Type.Integer({ description: 'Total of free events without an agreement, if `required`.' }),
  historical_events: Type.Integer({ minimum: 0, description: 'Historical events stored so far.' }),
  agreement_in_force: orNull(
    Type.String({ format: 'uuid' }),
    'Id of the approved agreement whose speed applies: the fastest one.',
  ),
  events_per_second: orNull(Type.Number(), 'Current speed limit. Null if unlimited.'),
  filed: Type.Integer({ minimum: 0, description: 'Number of agreements waiting for an operator.' }),
});
