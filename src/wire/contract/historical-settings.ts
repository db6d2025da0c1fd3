import { Type } from 'typebox';
import { orNull } from './or-null.ts';

/** What a project may send without an agreement, where agreements are required. */
export const freeEventsPerMinute = 10_000;
export const freeEventsInAll = 20_000_000;

export const agreementModes = ['optional', 'required'] as const;
export type AgreementMode = (typeof agreementModes)[number];

/** What bounds the history of a project at the moment. */
export const historicalSettingsSchema = Type.Object({
  mode: Type.Enum([...agreementModes], {
    description: 'optional: history is not bounded; required: beyond what is free it takes an approved agreement.',
  }),
  free_events_per_minute: Type.Integer({ description: 'Without an agreement, where they are required.' }),
  free_events_in_all: Type.Integer({ description: 'Without an agreement, where they are required.' }),
  historical_events: Type.Integer({ minimum: 0, description: 'Stored so far.' }),
  agreement_in_force: orNull(
    Type.String({ format: 'uuid' }),
    'Id of the approved agreement whose speed holds: the fastest one.',
  ),
  events_per_second: orNull(Type.Number(), 'Highest speed at the moment; null: as fast as it goes.'),
  filed: Type.Integer({ minimum: 0, description: 'Agreements that wait for an operator.' }),
});
