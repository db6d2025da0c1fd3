import {
  exportSecrets,
  type ExportDestination,
  type ExportDestinationBody,
  type ExportPlaceKind,
  type ExportSecret,
} from '../../wire/contract/exports.ts';
import { ApiError } from '../../wire/contract/errors.ts';

type Field = Exclude<keyof ExportDestinationBody, 'kind'>;

/** What each kind of destination needs and may have. */
const fieldsOf: Readonly<
  Record<ExportPlaceKind, { readonly needs: readonly Field[]; readonly takes: readonly Field[] }>
> = {
  service: { needs: [], takes: [] },
  s3: {
    needs: ['bucket', 'access_key_id', 'secret_access_key'],
    takes: ['prefix', 'region', 'endpoint', 'path_style', 'session_token'],
  },
  gcs: { needs: ['bucket', 'key_file'], takes: ['prefix', 'endpoint'] },
  azure: { needs: ['account', 'container'], takes: ['prefix', 'endpoint', 'sas_token', 'account_key'] },
};

const forms: Readonly<Partial<Record<Field, readonly [form: RegExp, expected: string]>>> = {
  bucket: [/^[a-zA-Z0-9][a-zA-Z0-9._-]{1,220}$/, 'the name of a bucket, without scheme and path'],
  account: [/^[a-z0-9]{3,24}$/, 'the name of a storage account'],
  container: [/^(\$root|\$web|[a-z0-9-]{3,63})$/, 'the name of a container, without a path'],
  prefix: [/^[a-zA-Z0-9!_.*'()=/ -]{0,400}$/, "letters, digits, spaces and !_.*'()=/-"],
  region: [/^[a-z0-9-]{1,40}$/i, 'a region such as eu-central-1'],
};

/** Separates the secrets of a destination from what is stored and shown. @throws ApiError */
export function readDestination(given: ExportDestinationBody): {
  readonly destination: ExportDestination;
  readonly secrets: Readonly<Record<string, string>>;
} {
  const { kind } = given;
  const { needs, takes } = fieldsOf[kind];
  for (const field of Object.keys(given) as (keyof ExportDestinationBody)[]) {
    if (field !== 'kind' && !needs.includes(field) && !takes.includes(field) && given[field] !== undefined) {
      const allowed = [...needs, ...takes].join(', ') || 'no other field';
      throw wrong(field, `Expected for "${kind}": ${allowed}; got: ${field}.`);
    }
  }
  for (const field of needs) {
    if ((given[field] ?? '') === '') throw wrong(field, `Expected "${field}" for a destination "${kind}", got none.`);
  }
  for (const [field, [form, expected]] of Object.entries(forms)) {
    const value = given[field as Field];
    if (typeof value === 'string' && !form.test(value)) throw wrong(field, `Expected ${expected}, got: ${value}`);
  }
  checkEndpoint(given.endpoint);
  if (kind === 'azure' && (given.sas_token ?? '') === '' && (given.account_key ?? '') === '') {
    throw wrong('sas_token', 'Expected "sas_token" or "account_key" for a destination "azure", got none.');
  }
  const isSecret = (field: string): boolean => (exportSecrets as readonly string[]).includes(field);
  const entries = Object.entries(given).filter(([, value]) => value !== undefined && value !== '');
  return {
    destination: { ...Object.fromEntries(entries.filter(([field]) => !isSecret(field))), kind },
    secrets: Object.fromEntries(entries.filter(([field]) => isSecret(field))) as Record<ExportSecret, string>,
  };
}

function checkEndpoint(endpoint: string | undefined): void {
  if (endpoint === undefined || endpoint === '') return;
  const url = URL.parse(endpoint);
  const isPlain = url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (isPlain && /^https?:$/.test(url.protocol)) return;
  throw wrong('endpoint', 'Expected an address such as https://storage.example.com, without a key.');
}

function wrong(field: string, detail: string): ApiError {
  return new ApiError('invalid_input', detail, { attr: `destination.${field}` });
}
