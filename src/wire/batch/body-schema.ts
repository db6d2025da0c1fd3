import { uuidPattern } from '../../base/uuids.ts';
import { distinctIdCharsMax, nameCharsMax } from './limits.ts';

/**
 * JSON Schema of what capture accepts, for the OpenAPI document. The scanner decides (scan.ts, validate.ts);
 * src/wire/capture/described.test.ts compares the two.
 */

const uuid = {
  type: 'string',
  pattern: uuidPattern,
  examples: ['0199a7c4-6f3e-7c1a-9d55-2b1f0c6e8a10'],
} as const;

const distinctId = {
  type: 'string',
  pattern: '\\S',
  description: `Id of the person or device. Truncated to ${distinctIdCharsMax} characters.`,
  examples: ['ada'],
} as const;

/** PHP writes an empty map as a list. */
const map = { anyOf: [{ type: 'object' }, { type: 'array', maxItems: 0 }] } as const;

const eventProperties = {
  event: { type: 'string', minLength: 1, maxLength: nameCharsMax, examples: ['signed up'] },
  distinct_id: distinctId,
  uuid: {
    ...uuid,
    description:
      'Events with the same uuid are stored once. Dashes, braces, a `urn:uuid:` prefix and case do not matter. ' +
      'Default: a new uuid; for a historical event, one derived from its content.',
  },
  timestamp: {
    type: 'string',
    description: 'ISO 8601. Default: the time of receipt.',
    examples: ['2026-01-31T12:00:00.000Z'],
  },
  properties: { ...map, examples: [{ plan: 'pro' }] },
  $set: { ...map, description: 'Person properties. The value with the latest event time wins.' },
  $set_once: { ...map, description: 'Person properties. The value with the earliest event time wins.' },
} as const;

const eventOf = (idIn: 'event' | 'properties'): object => ({
  type: 'object',
  required: idIn === 'event' ? ['event', 'distinct_id'] : ['event', 'properties'],
  properties:
    idIn === 'event'
      ? eventProperties
      : {
          ...eventProperties,
          properties: { type: 'object', required: ['distinct_id'], properties: { distinct_id: distinctId } },
        },
});

const apiKey = {
  type: 'string',
  minLength: 1,
  description: 'The project API key (phc_…).',
  examples: ['phc_…'],
} as const;

const events = {
  type: 'array',
  minItems: 1,
  items: { anyOf: [eventOf('event'), eventOf('properties')] },
} as const;

/** The body that client libraries send to `/batch/` and its aliases, which also accept other forms. */
export const batchBodySchema = {
  type: 'object',
  required: ['api_key', 'batch'],
  properties: {
    api_key: apiKey,
    batch: events,
    historical_migration: {
      type: 'boolean',
      default: false,
      description: 'Marks historical events: a separate lane, exact timestamps, metered separately.',
    },
    sent_at: {
      type: 'string',
      description: "Time at which the client sent the body, by the client's clock, ISO 8601.",
    },
  },
} as const;

const time = { type: 'string', format: 'date-time', examples: ['2026-01-31T12:00:00Z'] } as const;

/** The body of the v1 endpoint. Invalid events are dropped and reported in their results; an invalid uuid refuses the body. */
export const v1BodySchema = {
  type: 'object',
  required: ['created_at', 'batch'],
  properties: {
    created_at: time,
    historical_migration: { type: 'boolean', default: false },
    batch: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['event', 'uuid', 'distinct_id', 'timestamp'],
        properties: {
          event: eventProperties.event,
          uuid: { ...uuid, description: 'Unique in the batch.' },
          distinct_id: distinctId,
          timestamp: time,
          properties: map,
          session_id: { type: 'string' },
          window_id: { type: 'string' },
          options: map,
        },
      },
    },
  },
} as const;
