import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { pageQuerySchema } from './pagination.ts';

const source = Type.String({
  minLength: 1,
  maxLength: 400,
  description: 'Where the events come from, e.g. the tool that is left.',
});
const method = Type.String({
  minLength: 1,
  maxLength: 400,
  description: 'How they are sent: an import app, a script over /batch/, …',
});
const totalEvents = Type.Integer({ minimum: 1, maximum: 1_000_000_000_000, description: 'Events in all.' });
const eventsPerSecond = Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Highest speed of sending.' });
const note = Type.String({ maxLength: 1000, description: 'Anything else worth knowing.' });

const agreementStates = ['filed', 'approved', 'rejected', 'ended'] as const;

/**
 * An agreement for a historical import: how much history comes from where, and how fast.
 *
 *     filed ──approve──▶ approved ──end──▶ ended
 *       └────reject────▶ rejected
 *
 * The project may change its request while it is filed; approving and rejecting are the operator's.
 */
export const historicalMigrationSchema = Type.Object({
  id: Type.String({ format: 'uuid' }),
  project_id: Type.Integer(),
  source,
  method,
  total_events: totalEvents,
  events_per_second: eventsPerSecond,
  state: Type.Enum([...agreementStates], {
    description: 'filed: waits for an operator; approved: the speed holds; ended: as without an agreement.',
  }),
  note,
  created_at: Type.String({ format: 'date-time' }),
  decided_at: orNull(Type.String({ format: 'date-time' })),
});
export type HistoricalMigrationRecord = Static<typeof historicalMigrationSchema>;

export const historicalMigrationCreateSchema = Type.Object({
  source,
  method,
  total_events: totalEvents,
  events_per_second: eventsPerSecond,
  note: Type.Optional(note),
});

export const historicalMigrationUpdateSchema = Type.Object({
  source: Type.Optional(source),
  method: Type.Optional(method),
  total_events: Type.Optional(totalEvents),
  events_per_second: Type.Optional(eventsPerSecond),
  note: Type.Optional(note),
});

export const historicalMigrationDecisionSchema = Type.Object({ note: Type.Optional(note) });

export const historicalMigrationQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  state: Type.Optional(Type.Enum([...agreementStates], { description: 'Only agreements in this state.' })),
});
