import { Type, type Static } from 'typebox';
import { eventSelectionSchema } from './event-selection.ts';
import { orNull } from './or-null.ts';
import { taskSchema } from './tasks.ts';

/** Exports of events, persons and groups. */

export const exportTableNames = ['events', 'persons', 'groups'] as const;
export type ExportTableName = (typeof exportTableNames)[number];

export const exportFormats = ['ndjson', 'csv', 'parquet'] as const;
export type ExportFormat = (typeof exportFormats)[number];

export const exportShapes = ['millrace', 'posthog'] as const;
export type ExportShape = (typeof exportShapes)[number];

export const exportCompressions = ['none', 'gzip', 'zstd'] as const;
export type ExportCompression = (typeof exportCompressions)[number];

export const exportPlaces = ['service', 's3', 'gcs', 'azure'] as const;
export type ExportPlaceKind = (typeof exportPlaces)[number];

export const rowsPerPartDefault = 250_000;
export const rowsPerPartMax = 1_000_000;

const text = (description: string, maxLength = 500) => Type.Optional(Type.String({ maxLength, description }));
const secret = (description: string, maxLength = 2000) => text(`${description} Never shown again.`, maxLength);

/** Where the files go, without secrets. */
const placeFields = {
  kind: Type.Enum([...exportPlaces], {
    description: '`service` keeps the files for download; the others receive them in a bucket or container.',
  }),
  bucket: text('Name of the bucket, for `s3` and `gcs`.'),
  account: text('Storage account, for `azure`.'),
  container: text('Name of the container, for `azure`.'),
  prefix: text('Beginning of the names of the files, such as `exports/2026/`. A folder per export is added.'),
  region: text('Region of the bucket, for `s3`. Default: us-east-1.'),
  endpoint: text('Address of a compatible service. By default that of the vendor.'),
  path_style: Type.Optional(
    Type.Boolean({ description: 'For `s3`: the name of the bucket is in the path. Default: if an endpoint is set.' }),
  ),
  access_key_id: text('Id of the key, for `s3`.'),
};

const secretFields = {
  secret_access_key: secret('Secret of the key, for `s3`.'),
  session_token: secret('For temporary keys, for `s3`.', 8000),
  key_file: secret('JSON key of a service account that may create and delete objects, for `gcs`.', 20_000),
  sas_token: secret('Token that may create, write and delete blobs, for `azure`.'),
  account_key: secret('Key of the account, for `azure`, instead of a token.'),
};
export type ExportSecret = keyof typeof secretFields;
export const exportSecrets = Object.keys(secretFields) as readonly ExportSecret[];

export const exportDestinationSchema = Type.Object({ ...placeFields, ...secretFields });
export type ExportDestinationBody = Static<typeof exportDestinationSchema>;

const tables = Type.Array(Type.Enum([...exportTableNames]), { minItems: 1, maxItems: 3, uniqueItems: true });
const format = Type.Enum([...exportFormats]);
const shape = Type.Enum([...exportShapes]);
const compression = Type.Enum([...exportCompressions]);

export const exportStartSchema = Type.Object({
  tables: Type.Optional({ ...tables, description: 'What to export. Default: events.' }),
  selection: Type.Optional({
    ...eventSelectionSchema,
    description: 'Which events. By default all. Persons and groups are always exported whole.',
  }),
  format: Type.Optional({ ...format, description: 'Format of the files. Default: ndjson.' }),
  shape: Type.Optional({
    ...shape,
    description:
      '`millrace` (default) is as stored, which an import reads back; `posthog` has the columns of PostHog’s batch exports.',
  }),
  compression: Type.Optional({
    ...compression,
    description: 'Default: gzip, and for Parquet, which is compressed within, zstd.',
  }),
  rows_per_part: Type.Optional(
    Type.Integer({
      minimum: 1000,
      maximum: rowsPerPartMax,
      default: rowsPerPartDefault,
      description: 'Maximum number of rows of a file. A file ends sooner after 128 MiB of properties.',
    }),
  ),
  destination: Type.Optional({ ...exportDestinationSchema, description: 'Where the files go. Default: the service.' }),
});
export type ExportStart = Static<typeof exportStartSchema>;

/** The request as it is stored and shown. */
export const exportSpecSchema = Type.Object({
  tables,
  selection: eventSelectionSchema,
  format,
  shape,
  compression,
  rows_per_part: Type.Integer(),
  destination: Type.Object(placeFields),
});
export type ExportSpec = Static<typeof exportSpecSchema>;
export type ExportDestination = ExportSpec['destination'];

const partSchema = Type.Object({
  name: Type.String({ description: 'Name of the file.' }),
  table: Type.Enum([...exportTableNames]),
  rows: Type.Integer(),
  bytes: Type.Integer({ description: 'Size of the file.' }),
  sha256: Type.String({ description: 'Hex, of the file.' }),
  first: Type.String({ description: 'Uuid of the first event or person, or type and key of the first group.' }),
  last: Type.String({ description: 'The same of the last one.' }),
  from: Type.Optional(Type.String({ description: 'Of events: the earliest time.' })),
  to: Type.Optional(Type.String({ description: 'Of events: the latest time.' })),
});
export type ExportedPart = Static<typeof partSchema>;

export const exportProgressSchema = Type.Object({
  received_before: Type.String({ description: 'Events received from this time on do not belong to the export.' }),
  unfinished_runs: Type.Array(Type.String(), {
    description: 'Import runs that were not finished at the start. Their events do not belong to the export.',
  }),
  distinct_ids: Type.Optional(Type.Array(Type.String(), { description: 'Ids of the selected person.' })),
  events: Type.Integer({ description: 'Number of events to export.' }),
  parts: Type.Array(partSchema, { description: 'Completed files.' }),
  names: Type.Record(Type.String(), Type.Integer(), { description: 'Number of exported events by name.' }),
  after: Type.Optional(Type.Unknown({ description: 'Where the next file begins.' })),
  done: Type.Array(Type.Enum([...exportTableNames]), { description: 'Completed tables.' }),
});
export type ExportProgress = Static<typeof exportProgressSchema>;

export const exportResultSchema = Type.Object({
  rows: Type.Record(Type.String(), Type.Integer(), { description: 'Number of rows by table.' }),
  parts: Type.Integer(),
  bytes: Type.Integer({ description: 'Size of all files without the manifest.' }),
  sha256: Type.String({ description: 'Hex, of the manifest.' }),
});
export type ExportResult = Static<typeof exportResultSchema>;

const exportSchemas = { spec: exportSpecSchema, progress: exportProgressSchema, result: exportResultSchema };
export const exportTaskSchemas = exportSchemas;
export const exportSchema = taskSchema(exportSchemas);
export type ExportRecord = Static<typeof exportSchema>;

export const exportEstimateSchema = Type.Object({
  events: Type.Integer({ description: 'Number of events that an export would contain now.' }),
  bytes: Type.Integer({ description: 'Size of their properties before compression.' }),
  from: orNull(Type.String(), 'Earliest time. Null without events.'),
  to: orNull(Type.String(), 'Latest time. Null without events.'),
  persons: orNull(Type.Integer(), 'Null if persons are not exported.'),
  groups: orNull(Type.Integer(), 'Null if groups are not exported.'),
  unfinished_runs: Type.Array(Type.String(), { description: 'Import runs whose events would be excluded.' }),
});
export type ExportEstimate = Static<typeof exportEstimateSchema>;

export const exportFileParamsSchema = Type.Object({
  id: Type.String({ description: 'Id of the export.' }),
  name: Type.String({ description: 'Name of a part, or `manifest.json`.' }),
});

export const manifestName = 'manifest.json';
