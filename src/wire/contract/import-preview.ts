import { Type, type Static } from 'typebox';
import { importRunCreateSchema } from './import-runs.ts';
import { orNull } from './or-null.ts';

/** Maximum of records in a preview. */
export const previewMax = 200;

export const importPreviewSchema = Type.Object({
  config_id: Type.Optional(
    Type.Integer({ description: 'Id of a stored import app config; `settings` override some of its settings.' }),
  ),
  plugin: Type.Optional(
    Type.Integer({ description: 'Id of the import app for a config that is not stored yet, instead of `config_id`.' }),
  ),
  settings: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'Settings in the form of …/settings. Other settings of a stored config are kept, including secrets.',
    }),
  ),
  records: Type.Optional(
    Type.Integer({ minimum: 1, maximum: previewMax, description: 'Number of records to show. Default 20.' }),
  ),
  ...importRunCreateSchema.properties,
});
export type ImportPreview = Static<typeof importPreviewSchema>;

const event = Type.Object({
  uuid: Type.String(),
  event: Type.String(),
  distinct_id: Type.String(),
  timestamp: Type.String(),
  properties: Type.Record(Type.String(), Type.Unknown()),
});

const record = Type.Object({
  part: Type.String({ description: 'File, day or page that contains the record.' }),
  original: Type.String({ description: 'Record as in the source, truncated at 100,000 characters.' }),
  record: Type.Unknown({ description: 'The parsed record. Null if it is not JSON or too long to show.' }),
  outcome: Type.Enum(['events', 'skipped', 'rejected'], {
    description:
      '`skipped`: skipped on purpose. `rejected`: cannot be read. Single events of `events` may still be refused.',
  }),
  reason: orNull(Type.String(), 'Why the record is skipped or rejected.'),
  events: Type.Array(
    Type.Object({
      event: orNull(event, 'Null if the transform or the tracking plan drops it.'),
      violations: Type.Array(Type.String(), {
        description: 'How the event violates the tracking plan, one sentence per rule.',
      }),
      refused: orNull(Type.Object({ code: Type.String(), reason: Type.String() }), 'Why the event would be rejected.'),
    }),
  ),
  left_out: Type.Array(Type.String(), {
    description: 'Why events of the record are excluded by choice, one entry per event.',
  }),
});

export const importPreviewResultSchema = Type.Object({
  format: Type.String(),
  parts: Type.Integer({ description: 'Number of files, days or pages in the source.' }),
  bytes_total: orNull(Type.Integer(), 'Size of all parts. Null if the source does not provide it.'),
  part: Type.String({
    description:
      'Part that contains the first record. Empty if there are no records. With several files, records are taken from up to three.',
  }),
  events: Type.Integer({ description: 'Number of converted events, without refused and dropped ones.' }),
  skipped: Type.Integer({ description: 'Number of records skipped on purpose.' }),
  rejected: Type.Integer({ description: 'Number of records that cannot be read or have a refused event.' }),
  truncated: Type.Boolean({ description: 'Whether fewer records than requested are shown because they are large.' }),
  better_format: orNull(Type.String(), 'If no record can be read, another format that can read them.'),
  fitting_formats: Type.Array(Type.String(), {
    description:
      'Formats that read most of these records without options, if at least half of them. Several if they read the same number: ' +
      'the records do not show which of them is right.',
  }),
  results: Type.Array(record),
});
