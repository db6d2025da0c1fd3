import { Type, type Static } from 'typebox';
import { importRunCreateSchema } from './import-runs.ts';
import { orNull } from './or-null.ts';

/** Records that one preview shows. */
export const previewMax = 200;

export const importPreviewSchema = Type.Object({
  config_id: Type.Optional(
    Type.Integer({ description: 'A stored import app config; `settings` replace some of its settings.' }),
  ),
  plugin: Type.Optional(
    Type.Integer({ description: 'Instead: id of the import app of a config that is not stored yet.' }),
  ),
  settings: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'As …/settings takes them. Of a stored config the others stay, secrets too.',
    }),
  ),
  records: Type.Optional(
    Type.Integer({ minimum: 1, maximum: previewMax, description: 'How many records to show. Default 20.' }),
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
  part: Type.String({ description: 'The file, day or page that it comes from.' }),
  original: Type.String({ description: 'As the source has it; cut at 100,000 characters.' }),
  record: Type.Unknown({ description: 'The same parsed; null: it is no JSON, or too long to show.' }),
  outcome: Type.Enum(['events', 'skipped', 'rejected'], {
    description:
      'skipped: skipped on purpose; rejected: nobody can read it. Single events may be refused all the same.',
  }),
  reason: orNull(Type.String(), 'Of what is skipped or rejected.'),
  events: Type.Array(
    Type.Object({
      event: orNull(event, 'Null: the transform drops it.'),
      refused: orNull(Type.Object({ code: Type.String(), reason: Type.String() }), 'Why it would be rejected.'),
    }),
  ),
  left_out: Type.Array(Type.String(), {
    description: 'Why events of it are left out by what is chosen, one entry each.',
  }),
});

export const importPreviewResultSchema = Type.Object({
  format: Type.String(),
  parts: Type.Integer({ description: 'Files, days or pages that the source has.' }),
  bytes_total: orNull(Type.Integer(), 'Of all of them; null: the source does not say.'),
  part: Type.String({
    description:
      'The one that the first of the records comes from; empty: none has any. Of several files the records come from up to three, first to last.',
  }),
  events: Type.Integer({ description: 'What the records become, without those refused or dropped.' }),
  skipped: Type.Integer({ description: 'Records that are skipped on purpose.' }),
  rejected: Type.Integer({ description: 'Records that cannot be read, or of which an event is refused.' }),
  truncated: Type.Boolean({ description: 'Fewer records than were asked for, as they are so large.' }),
  better_format: orNull(Type.String(), 'Where none of the records can be read: another format that reads them.'),
  results: Type.Array(record),
});
