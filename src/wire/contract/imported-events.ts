import { Type } from 'typebox';
import { orNull } from './or-null.ts';
import { stated } from './stated.ts';

const day = Type.String({
  pattern: '^\\d{4}-\\d\\d-\\d\\d$',
  ...stated.day,
  description: "UTC day of the events' timestamps.",
  examples: ['2024-03-01'],
});

const kinds = ['crc32', 'md5'] as const;

const contents = Type.Enum([...kinds], { description: 'Algorithm of `content_checksum`.' });

/** Omitted by earlier versions of the service. */
const contentsAsked = Type.Optional(
  Type.Enum([...kinds], {
    default: 'md5',
    description: 'Algorithm of `content_checksum`. `crc32` is cheaper.',
  }),
);

export const importedCountsQuerySchema = Type.Object({
  day,
  run: Type.String({ minLength: 1, maxLength: 200, description: 'Id of the import run (`$import_run_id`).' }),
  contents: contentsAsked,
});

export const importedCountsSchema = Type.Object({
  active_transformations: Type.Integer({
    description: "Number of the project's transformations that may change events before they are stored.",
  }),
  contents,
  results: Type.Array(
    Type.Object({
      event: Type.String(),
      count: Type.Integer(),
      checksum: Type.String({
        description:
          '16 hexadecimal digits: XOR over all events of the first 8 bytes (little-endian) of the MD5 of ' +
          '`uuid NUL distinct_id NUL time`, the time in µs since the epoch.',
      }),
      content_checksum: Type.String({
        description:
          '`md5`: the same over `uuid NUL properties`, as stored, without a trailing `,"$import_run_id":"…"`. ' +
          '`crc32`: XOR of 64 bits for each event. `crc` is the CRC-32 of the properties without that suffix and the last brace; `low` ' +
          'and `high` are the halves of what the event adds to `checksum`. The lower half is that of (crc XOR low) × (high OR 1), the ' +
          'upper half the lower half of (crc XOR high) × (low OR 1).',
      }),
    }),
  ),
});

export const importedEventsQuerySchema = Type.Object({
  day: Type.Optional(day),
  event: Type.Optional(
    Type.String({ maxLength: 1000, description: 'Only events with this name. Required without `events`.' }),
  ),
  events: Type.Optional(
    Type.String({
      maxLength: 4000,
      description: 'Only events with one of these names, a JSON array of strings. Requires `day`.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      ...stated.cursor,
      maxLength: 10_000,
      description: 'Position after the previous page, from `next`.',
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, default: 10_000, description: 'Events per page.' })),
  contents: contentsAsked,
});

export const importedEventsSchema = Type.Object({
  next: orNull(Type.String(), '`cursor` of the next page. Null on the last page.'),
  contents,
  results: Type.Array(
    Type.Object({
      day: Type.String({ description: "UTC day, part of the event's identity." }),
      event: Type.String(),
      uuid: Type.String({ format: 'uuid' }),
      distinct_id: Type.String(),
      timestamp: Type.String({ format: 'date-time', description: 'ISO 8601 UTC with microseconds.' }),
      import_run_id: Type.String({ description: 'Run that stored the event. Empty if it was not imported.' }),
      content_checksum: Type.String({ description: "The event's contribution to `content_checksum` of the counts." }),
    }),
  ),
});

export const importedPropertiesQuerySchema = Type.Object({
  day,
  event: Type.String({ maxLength: 1000, description: 'Name of all these events.' }),
  uuids: Type.String({
    maxLength: 3700,
    pattern:
      '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(,[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})*$',
    description: 'At most 100 comma-separated uuids.',
  }),
});

export const importedPropertiesSchema = Type.Object({
  results: Type.Array(
    Type.Object({
      uuid: Type.String({ format: 'uuid' }),
      distinct_id: Type.String(),
      properties: Type.String({ description: 'JSON as stored, with every digit.' }),
    }),
  ),
});
