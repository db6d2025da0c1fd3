import {
  SourceChangedError,
  SourceError,
  type RecordChunk,
  type Source,
  type SourceContext,
  type SourceHost,
  type SourcePart,
} from '../source.ts';
import { readRecords } from '../records/read-records.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource, wrongSetting } from '../../plugins/plugin.ts';
import { textSetting } from '../../plugins/setting-values.ts';
import { readBlobPage, type ListedBlob } from './azure-list.ts';
import { signBySas, signBySharedKey, type SignRequest } from './azure-sign.ts';
import { askAgain, baseUrlOf, createExportApi, readWhole, type ExportApi } from './export-api.ts';
import { fileKinds } from './files.ts';
import { shortKey } from './find-files.ts';
import { chooseObjects, type ListedObject } from './object-parts.ts';
import { resumedBody } from './resumed-body.ts';

const name = 'Azure Blob Storage';
const pageBytesMax = 32 * 1024 * 1024;

/** Blobs of a container. */
export const azure = defineImportSource({
  slug: 'azure',
  name,
  description: `Imports the blobs of a container of Azure Blob Storage: ${fileKinds}`,
  fields: [
    {
      key: 'account',
      name: 'Storage account',
      type: 'string',
      required: true,
      hint: 'Its name, as in name.blob.core.windows.net.',
    },
    { key: 'container', name: 'Container', type: 'string', required: true, hint: 'Its name.' },
    {
      key: 'prefix',
      name: 'Prefix',
      type: 'string',
      hint: 'Only blobs whose names begin so, such as exports/2024/. Empty: the whole container.',
    },
    {
      key: 'suffix',
      name: 'Suffix',
      type: 'string',
      hint: 'Only blobs whose names end so, such as .json.gz. Empty: all.',
    },
    {
      key: 'sas_token',
      name: 'SAS token',
      type: 'string',
      secret: true,
      sent_to: ['account', 'container', 'endpoint'],
      hint: 'With the rights to list and to read, which must last as long as the export does. Neither it nor a key: a public container.',
    },
    {
      key: 'account_key',
      name: 'Account key',
      type: 'string',
      secret: true,
      sent_to: ['account', 'container', 'endpoint'],
      hint: 'Instead of a SAS token: it may do everything.',
    },
    {
      key: 'endpoint',
      name: 'Endpoint',
      type: 'string',
      hint: 'Only for another address than https://account.blob.core.windows.net, such as http://127.0.0.1:10000/devstoreaccount1.',
    },
  ],
  formats: [],
  range: undefined,
  example: { account: 'myexports', container: 'events', prefix: 'mixpanel/', sas_token: 'sv=2025-01-05&sig=secret' },
  createSource,
});

/** What every request needs. */
interface AzureDeps {
  readonly api: ExportApi;
  readonly sign: SignRequest;
  readonly host: SourceHost;
  /** Of the container, without a slash at the end. */
  readonly url: string;
  readonly container: string;
}

function createSource(settings: SettingValues, host: SourceHost): Source {
  const account = textSetting(settings, 'account').trim();
  const container = textSetting(settings, 'container').trim();
  if (!/^[a-z0-9]{3,24}$/.test(account)) throw wrongSetting('account', 'expected the name of a storage account');
  if (!/^(\$root|\$web|[a-z0-9-]{3,63})$/.test(container)) {
    throw wrongSetting('container', 'expected the name of a container, without a path');
  }
  const prefix = textSetting(settings, 'prefix');
  const suffix = textSetting(settings, 'suffix');
  const endpoint = baseUrlOf(textSetting(settings, 'endpoint'), 'endpoint', `https://${account}.blob.core.windows.net`);
  const { sign, secrets } = accessOf(settings, { account, host });
  const api = createExportApi(host, { name, secrets });
  const deps = { api, sign, host, url: `${endpoint}/${container}`, container };
  return {
    concurrency: 4,
    listParts: (_range, context) => chooseObjects(listPages(deps, prefix, context), { prefix, suffix }),
    open: (part, context) => readBlob(deps, part, context),
  };
}

function accessOf(
  settings: SettingValues,
  { account, host }: { readonly account: string; readonly host: SourceHost },
): { readonly sign: SignRequest; readonly secrets: readonly string[] } {
  const sas = textSetting(settings, 'sas_token').trim().replace(/^\?/, '');
  const key = textSetting(settings, 'account_key').trim();
  if (sas !== '' && key !== '') throw wrongSetting('sas_token', 'expected it or "account_key", not both');
  if (key === '') {
    const signature = new URLSearchParams(sas).get('sig');
    if (sas !== '' && signature === null)
      throw wrongSetting('sas_token', 'expected a token with sig=…, as Azure gives it');
    return { sign: signBySas(sas), secrets: signature === null ? [] : [sas, signature] };
  }
  if (!/^[A-Za-z0-9+/]{20,}={0,2}$/.test(key))
    throw wrongSetting('account_key', 'expected the key of the account, in base64');
  return { sign: signBySharedKey({ account, key, now: host.now }), secrets: [key] };
}

async function* listPages(
  deps: AzureDeps,
  prefix: string,
  context: SourceContext,
): AsyncGenerator<readonly ListedObject[]> {
  for (let marker = ''; ;) {
    const query = { restype: 'container', comp: 'list', prefix, ...(marker === '' ? {} : { marker }) };
    const url = `${deps.url}?${new URLSearchParams(query).toString().replaceAll('+', '%20')}`;
    const page = await askAgain(context, async () => readBlobPage(await askForPage(deps, url, context)));
    yield page.blobs.map(listedObject);
    marker = page.next;
    if (marker === '') return;
  }
}

async function askForPage(deps: AzureDeps, url: string, { signal }: SourceContext): Promise<string> {
  const response = await deps.api.ask({ ...deps.sign(url, {}), accepted: [200, 404] }, signal);
  const body = await readWhole(response, { name, bytesMax: pageBytesMax, signal });
  if (response.status === 200) return body.toString('utf8');
  throw new SourceError(
    `expected the container ${deps.container}, but there is none of that name, or it is not public and no token was given`,
  );
}

function listedObject({ name: blob, bytes, etag }: ListedBlob): ListedObject {
  const part = { key: shortKey(blob), bytes, identity: etag, stable: true, detail: { name: blob } };
  return { key: blob, bytes, part };
}

async function* readBlob(deps: AzureDeps, part: SourcePart, context: SourceContext): AsyncGenerator<RecordChunk> {
  const blob = part.detail?.['name'];
  if (typeof blob !== 'string') throw new SourceError(`${part.key} is no blob of the container`);
  const { signal } = context;
  const url = `${deps.url}/${blob.split('/').map(encodeURIComponent).join('/')}`;
  const open = async (at: number): Promise<AsyncIterable<Buffer>> => {
    const headers = { 'if-match': part.identity ?? '', 'accept-encoding': 'identity', range: `bytes=${at}-` };
    const response = await deps.api.ask({ ...deps.sign(url, headers), accepted: [200, 206, 404, 412] }, signal);
    if (response.status === 206 || (response.status === 200 && at === 0)) return response.body;
    throw new SourceChangedError(`${blob} has been overwritten or removed since it was listed`);
  };
  const hints = { foreign: context.foreign, isOneOfSeveral: part.detail?.['several'] === true };
  yield* readRecords(resumedBody(open), { name: part.key, signal, tempDir: deps.host.tempDir, ...hints });
}
