import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { pageQuerySchema } from './pagination.ts';

const source = Type.String({
  minLength: 1,
  maxLength: 400,
  description: 'Source of the events, e.g. the tool you migrate from.',
});
const method = Type.String({
  minLength: 1,
  maxLength: 400,
  description: 'How events are sent: an import app, a script over /batch/, …',
});
const totalEvents = Type.Integer({ minimum: 1, maximum: 1_000_000_000_000, description: 'Total number of events.' });
const eventsPerSecond = Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Maximum sending speed.' });
const note = Type.String({ maxLength: 1000, description: 'Additional notes.' });

const agreementStates = ['filed', 'approved', 'rejected', 'ended'] as const;

/**
 * An agreement for a historical import: how many events come from which source, and how fast.
 *
 *     filed ──approve──▶ approved ──end──▶ ended
 *       └────reject────▶ rejected
 *
 * The project may change its request while it is filed; only an operator approves or rejects it.
 */
export const historicalMigrationSchema = Type.Object({
  id: Type.String({ format: 'uuid' }),
  project_id: Type.Integer(),
  source,
  method,
  total_events: totalEvents,
  events_per_second: eventsPerSecond,
  state: Type.Enum([...agreementStates], {
    description: '`filed`: waiting for an operator. `approved`: the speed applies. `ended`: as without an agreement.',
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
