import type { ExportDestinationBody, ExportStart, ExportTableName } from '../../../../src/wire/contract/exports.ts';
import { everyEvent, selectionOf, type SelectionDraft } from '../../components/event-selection.ts';
import type { ExportsSearch } from './exports-search.ts';

/** What the form holds. */
export interface ExportDraft {
  readonly tables: readonly ExportTableName[];
  readonly selection: SelectionDraft;
  readonly format: NonNullable<ExportStart['format']>;
  readonly shape: NonNullable<ExportStart['shape']>;
  readonly destination: ExportDestinationBody['kind'];
  /** Of the destination, by name in the API. */
  readonly fields: Readonly<Record<string, string>>;
}

export function draftOf(search: ExportsSearch): ExportDraft {
  const { event = '', distinct_id = '', person_id = '', after = '', before = '', historical } = search;
  return {
    tables: ['events'],
    selection: {
      ...everyEvent,
      events: event,
      distinctIds: distinct_id,
      personId: person_id,
      after,
      before,
      kind: historical === undefined ? 'all' : historical ? 'historical' : 'live',
      importRun: search.import_run ?? '',
      properties: search.properties ?? [],
    },
    format: 'ndjson',
    shape: 'millrace',
    destination: 'service',
    fields: {},
  };
}

interface DestinationField {
  readonly name: Exclude<keyof ExportDestinationBody, 'kind' | 'path_style'>;
  readonly label: string;
  readonly hint?: string;
  readonly isSecret?: true;
}

const prefix = { name: 'prefix', label: 'Prefix', hint: 'Beginning of the names, such as exports/.' } as const;
const endpoint = { name: 'endpoint', label: 'Endpoint', hint: "Only for another address than the vendor's." } as const;
const bucket = { name: 'bucket', label: 'Bucket' } as const;

export const destinationFields: Readonly<Record<ExportDraft['destination'], readonly DestinationField[]>> = {
  service: [],
  s3: [
    bucket,
    prefix,
    { name: 'region', label: 'Region', hint: 'Default: us-east-1.' },
    { name: 'access_key_id', label: 'Access key id' },
    { name: 'secret_access_key', label: 'Secret access key', isSecret: true },
    endpoint,
  ],
  gcs: [
    bucket,
    prefix,
    { name: 'key_file', label: 'Key file', hint: 'JSON of a service account.', isSecret: true },
    endpoint,
  ],
  azure: [
    { name: 'account', label: 'Storage account' },
    { name: 'container', label: 'Container' },
    prefix,
    { name: 'sas_token', label: 'SAS token', hint: 'Or the account key.', isSecret: true },
    { name: 'account_key', label: 'Account key', isSecret: true },
    endpoint,
  ],
};

/** Builds the request; the service validates it. */
export function bodyOf(draft: ExportDraft): ExportStart {
  const { tables, format, shape, destination, fields } = draft;
  const given = destinationFields[destination].map(({ name }) => [name, (fields[name] ?? '').trim()] as const);
  return {
    tables: [...tables],
    selection: selectionOf(draft.selection),
    format,
    shape,
    destination: { kind: destination, ...Object.fromEntries(given.filter(([, value]) => value !== '')) },
  };
}
