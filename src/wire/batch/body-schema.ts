import { uuidPattern } from '../../base/uuids.ts';
import { distinctIdCharsMax, nameCharsMax } from './limits.ts';

/**
 * What capture takes, as JSON Schema, for the description of the API. The scanner is what decides (scan.ts, validate.ts);
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
  description: `Whose event it is. Longer than ${distinctIdCharsMax} characters is cut.`,
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
      'The same uuid for the same event is stored once, however often it is sent. With or without dashes, in braces, behind urn:uuid: ' +
      'and in any case it is the same uuid. Default: a new one; of a historical event, one that follows from its content.',
  },
  timestamp: {
    type: 'string',
    description: 'ISO 8601. Default: the time of arrival.',
    examples: ['2026-01-31T12:00:00.000Z'],
  },
  properties: { ...map, examples: [{ plan: 'pro' }] },
  $set: { ...map, description: 'Properties of the person; the time of the event decides which value stands.' },
  $set_once: { ...map, description: 'Properties of the person; the earliest value stands.' },
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

/** The body that client libraries send to `/batch/` and its aliases; they take other forms, too. */
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
    sent_at: { type: 'string', description: 'When the client sent it, by its own clock, ISO 8601.' },
  },
} as const;

const time = { type: 'string', format: 'date-time', examples: ['2026-01-31T12:00:00Z'] } as const;

/** The body of the v1 endpoint. An event that breaks a rule is dropped, and its result says so; uuids have to be right. */
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
          uuid: { ...uuid, description: 'Once in a batch.' },
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
