import { Type } from 'typebox';
import { orNull } from './or-null.ts';
import { stated } from './stated.ts';

const day = Type.String({
  pattern: '^\\d{4}-\\d\\d-\\d\\d$',
  ...stated.day,
  description: 'Day of the events’ own time, UTC.',
  examples: ['2024-03-01'],
});

const kinds = ['crc32', 'md5'] as const;

const contents = Type.Enum([...kinds], { description: 'How `content_checksum` is made.' });

/** Left out: as earlier versions of the service answer. */
const contentsAsked = Type.Optional(
  Type.Enum([...kinds], {
    default: 'md5',
    description: 'How `content_checksum` is made; `crc32` costs the service less.',
  }),
);

export const importedCountsQuerySchema = Type.Object({
  day,
  run: Type.String({ minLength: 1, maxLength: 200, description: 'Id of the import run (`$import_run_id`).' }),
  contents: contentsAsked,
});

export const importedCountsSchema = Type.Object({
  active_transformations: Type.Integer({
    description: 'How many transformations of the project may change events on their way into the store now.',
  }),
  contents,
  results: Type.Array(
    Type.Object({
      event: Type.String(),
      count: Type.Integer(),
      checksum: Type.String({
        description:
          '16 hexadecimal digits: XOR over the events of the first 8 bytes (little-endian) of the MD5 of ' +
          '`uuid NUL distinct_id NUL time`, the time in µs since the epoch.',
      }),
      content_checksum: Type.String({
        description:
          '`md5`: the same over `uuid NUL properties`, their text as it is stored, without `,"$import_run_id":"…"` where it ends ' +
          'with that. `crc32`: XOR of 64 bits for each event. With `crc` the CRC-32 of the properties without that end and ' +
          'without the last brace, and `low` and `high` the halves of what the event adds to `checksum`: the lower half is that of ' +
          '(crc XOR low) × (high OR 1), the upper half the lower half of (crc XOR high) × (low OR 1).',
      }),
    }),
  ),
});

export const importedEventsQuerySchema = Type.Object({
  day: Type.Optional(day),
  event: Type.String({ maxLength: 1000, description: 'Only events of this name.' }),
  cursor: Type.Optional(
    Type.String({
      ...stated.cursor,
      maxLength: 10_000,
      description: 'Where the page before ended; taken from `next`.',
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, default: 10_000, description: 'Events per page.' })),
  contents: contentsAsked,
});

export const importedEventsSchema = Type.Object({
  next: orNull(Type.String(), '`cursor` of the next page; null: there is none.'),
  contents,
  results: Type.Array(
    Type.Object({
      day: Type.String({ description: 'UTC day that is part of its identity.' }),
      uuid: Type.String({ format: 'uuid' }),
      distinct_id: Type.String(),
      timestamp: Type.String({ format: 'date-time', description: 'ISO 8601 UTC with microseconds.' }),
      import_run_id: Type.String({ description: 'Run that stored it; empty: it was not imported.' }),
      content_checksum: Type.String({ description: 'What it adds to `content_checksum` of the counts.' }),
    }),
  ),
});

export const importedPropertiesQuerySchema = Type.Object({
  day,
  event: Type.String({ maxLength: 1000, description: 'The name of all of these events.' }),
  uuids: Type.String({
    maxLength: 3700,
    pattern:
      '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(,[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})*$',
    description: 'At most 100, with commas between them.',
  }),
});

export const importedPropertiesSchema = Type.Object({
  results: Type.Array(
    Type.Object({
      uuid: Type.String({ format: 'uuid' }),
      distinct_id: Type.String(),
      properties: Type.String({ description: 'JSON as it is stored, to the last digit.' }),
    }),
  ),
});
