import type { ExportStart, ExportTableName } from '../../../../src/wire/contract/exports.ts';
import type { Choice } from '../../components/select.tsx';

export const exportTableLabels: readonly Choice<ExportTableName>[] = [
  { value: 'events', label: 'Events' },
  { value: 'persons', label: 'Persons' },
  { value: 'groups', label: 'Groups' },
];

export const exportFormatLabels: readonly Choice<NonNullable<ExportStart['format']>>[] = [
  { value: 'ndjson', label: 'NDJSON' },
  { value: 'csv', label: 'CSV' },
  { value: 'parquet', label: 'Parquet' },
];

export const exportShapeLabels: readonly Choice<NonNullable<ExportStart['shape']>>[] = [
  { value: 'millrace', label: 'As stored' },
  { value: 'posthog', label: "PostHog's batch exports" },
];

export const exportPlaceLabels: readonly Choice<NonNullable<ExportStart['destination']>['kind']>[] = [
  { value: 'service', label: 'Download' },
  { value: 's3', label: 'S3 or compatible' },
  { value: 'gcs', label: 'Google Cloud Storage' },
  { value: 'azure', label: 'Azure Blob Storage' },
];
