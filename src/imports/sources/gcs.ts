import {
  SourceChangedError,
  SourceError,
  SourceWaitError,
  type Source,
  type SourceContext,
  type SourceHost,
  type SourcePart,
} from '../source.ts';
import { objectIn } from '../../base/json.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource, wrongSetting } from '../../plugins/plugin.ts';
import { textSetting } from '../../plugins/setting-values.ts';
import { askAgain, baseUrlOf, createExportApi, readWhole, type ExportApi } from './export-api.ts';
import { bucketSource, selectionFields, type ListedObject, type ObjectStore } from './bucket-source.ts';
import { fileKinds } from './files.ts';
import { shortKey } from './find-files.ts';
import { tokenOfMachine, tokenOfServiceAccount, type GcsToken } from './gcs-token.ts';
import { resumedBody } from './resumed-body.ts';

const name = 'Google Cloud Storage';
const credentialChoices = ['key file', 'none', 'machine'] as const;
const pageBytesMax = 16 * 1024 * 1024;

/** Objects of a Google Cloud Storage bucket. */
export const gcs = defineImportSource({
  slug: 'gcs',
  name,
  description: `Imports the objects of a Google Cloud Storage bucket: ${fileKinds}`,
  fields: [
    { key: 'bucket', name: 'Bucket', type: 'string', required: true, hint: 'Its name, without gs://.' },
    ...selectionFields,
    {
      key: 'credentials',
      name: 'Credentials',
      type: 'choice',
      choices: credentialChoices,
      default: 'key file',
      hint:
        '`none`: a public bucket. `machine`: those of the machine (gcloud, its service account), available on the command line; in a ' +
        'service only if its operator permits it.',
    },
    {
      key: 'key_file',
      name: 'Key file',
      type: 'text',
      secret: true,
      sent_to: ['endpoint', 'bucket'],
      required_if: [['credentials', 'key file']],
      visible_if: [['credentials', 'key file']],
      hint: 'JSON key of a service account with the role Storage Object Viewer.',
    },
    {
      key: 'endpoint',
      name: 'Endpoint',
      type: 'string',
      hint: 'Only for an address other than https://storage.googleapis.com, such as an emulator.',
    },
  ],
  formats: [],
  range: undefined,
  example: { bucket: 'my-exports', prefix: 'mixpanel/', credentials: 'none' },
  createSource,
});

/** Dependencies of every request. */
interface GcsDeps {
  readonly api: ExportApi;
  readonly token: GcsToken;
  /** Without a trailing slash. */
  readonly endpoint: string;
  readonly bucket: string;
}

function createSource(settings: SettingValues, host: SourceHost): Source {
  const bucket = textSetting(settings, 'bucket').trim();
  if (!/^[a-z0-9][a-z0-9._-]{1,220}$/.test(bucket)) {
    throw wrongSetting('bucket', 'expected the name of a bucket, without gs:// and path');
  }
  const endpoint = baseUrlOf(textSetting(settings, 'endpoint'), 'endpoint', 'https://storage.googleapis.com');
  const api = createExportApi(host, { name, secrets: [] });
  const deps = { api, token: tokenOf(settings, host), endpoint, bucket };
  const store: ObjectStore = {
    list: (prefix, context) => listPages(deps, prefix, context),
    read: (part, context) => readObject(deps, part, context),
  };
  return bucketSource(store, settings, host);
}

function tokenOf(settings: SettingValues, host: SourceHost): GcsToken {
  const choice = textSetting(settings, 'credentials', 'key file');
  if (choice === 'none') return async () => undefined;
  if (choice !== 'machine') return tokenOfServiceAccount(host, textSetting(settings, 'key_file'));
  const { machineCredentials = false } = host;
  if (machineCredentials === false) return refuseMachine;
  if (machineCredentials === 'anywhere' || textSetting(settings, 'endpoint') === '') return tokenOfMachine();
  throw wrongSetting('endpoint', 'expected none: the credentials of the machine are sent to Google only');
}

async function refuseMachine(): Promise<never> {
  throw new SourceError(
    'the credentials of this machine must not be used: set a key file, or ask an operator to set MILLRACE_IMPORT_MACHINE_CREDENTIALS',
  );
}

async function headersOf({ token }: GcsDeps, context: SourceContext): Promise<Record<string, string>> {
  const given = await token(context);
  return given === undefined ? {} : { authorization: `Bearer ${given}` };
}

async function* listPages(
  deps: GcsDeps,
  prefix: string,
  context: SourceContext,
): AsyncGenerator<readonly ListedObject[]> {
  const { endpoint, bucket } = deps;
  for (let pageToken = ''; ;) {
    const fields = 'items(name,size,generation,contentEncoding),nextPageToken';
    const query = new URLSearchParams({ prefix, fields, ...(pageToken === '' ? {} : { pageToken }) });
    const url = `${endpoint}/storage/v1/b/${bucket}/o?${query.toString()}`;
    const page = await askAgain(context, () => requestPage(deps, url, context));
    yield listOf(page['items']).map(listedObject);
    pageToken = typeof page['nextPageToken'] === 'string' ? page['nextPageToken'] : '';
    if (pageToken === '') return;
  }
}

async function requestPage(deps: GcsDeps, url: string, context: SourceContext) {
  const { signal } = context;
  const request = { url, headers: await headersOf(deps, context), accepted: [200, 404] };
  const response = await deps.api.ask(request, signal);
  const body = await readWhole(response, { name, bytesMax: pageBytesMax, signal });
  if (response.status === 404) throw new SourceError(`expected the bucket ${deps.bucket}, but it does not exist`);
  const page = objectIn(body.toString('utf8'));
  if (page !== undefined) return page;
  throw new SourceWaitError(`${name}: expected a page of a listing, got something else`, { unlimited: false });
}

function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  // Sound: other values give undefined for every name.
  return Array.isArray(value) ? value.map((each) => Object(each) as Record<string, unknown>) : [];
}

/** A generation has immutable content. */
function listedObject({
  name: key,
  size,
  generation,
  contentEncoding = '',
}: Readonly<Record<string, unknown>>): ListedObject {
  if (typeof key !== 'string' || typeof size !== 'string' || typeof generation !== 'string') {
    throw new SourceError(`${name}: expected name, size and generation of an object, got something else`);
  }
  const bytes = Number(size);
  const detail = { name: key, isPacked: contentEncoding !== '' };
  return { key, bytes, part: { key: shortKey(key), bytes, identity: generation, stable: true, detail } };
}

function readObject(deps: GcsDeps, part: SourcePart, context: SourceContext): AsyncIterable<Buffer> {
  const { name: object, isPacked } = part.detail ?? {};
  if (typeof object !== 'string') throw new SourceError(`${part.key} not found in the bucket`);
  return resumedBody(async (at) => {
    // Content decompressed by the service cannot be resumed by byte.
    if (at > 0 && isPacked === true) throw new SourceWaitError(`${part.key} broke off`, { unlimited: true });
    return openObject(deps, { object, generation: part.identity ?? '', at }, context);
  });
}

async function openObject(
  deps: GcsDeps,
  { object, generation, at }: { readonly object: string; readonly generation: string; readonly at: number },
  context: SourceContext,
): Promise<AsyncIterable<Buffer>> {
  const { endpoint, bucket, api } = deps;
  const query = new URLSearchParams({ alt: 'media', generation });
  const url = `${endpoint}/download/storage/v1/b/${bucket}/o/${encodeURIComponent(object)}?${query.toString()}`;
  const range = at === 0 ? {} : { range: `bytes=${at}-` };
  const headers = { ...(await headersOf(deps, context)), 'accept-encoding': 'gzip', ...range };
  const response = await api.ask({ url, headers, accepted: [at === 0 ? 200 : 206, 404] }, context.signal);
  if (response.status !== 404) return response.body;
  throw new SourceChangedError(`${object} has been overwritten or removed since it was listed`);
}
