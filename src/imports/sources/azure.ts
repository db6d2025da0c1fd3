import {
  SourceChangedError,
  SourceError,
  SourceWaitError,
  type Source,
  type SourceContext,
  type SourceHost,
  type SourcePart,
} from '../source.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource, wrongSetting } from '../../plugins/plugin.ts';
import { textSetting } from '../../plugins/setting-values.ts';
import { askAgain, baseUrlOf, createExportApi, readWhole, type ExportApi } from './export-api.ts';
import { azureAccess, type SignRequest } from './azure-access.ts';
import { bucketSource, selectionFields, type ListedObject, type ObjectStore } from './bucket-source.ts';
import { fileKinds } from './files.ts';
import { shortKey } from './find-files.ts';
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
    ...selectionFields,
    {
      key: 'sas_token',
      name: 'SAS token',
      type: 'string',
      secret: true,
      sent_to: ['account', 'container', 'endpoint'],
      hint: 'With list and read permissions, valid until the end of the export. Without a token and a key: a public container.',
    },
    {
      key: 'account_key',
      name: 'Account key',
      type: 'string',
      secret: true,
      sent_to: ['account', 'container', 'endpoint'],
      hint: 'Instead of a SAS token; grants full access.',
    },
    {
      key: 'endpoint',
      name: 'Endpoint',
      type: 'string',
      hint: 'Only for an address other than https://account.blob.core.windows.net, such as http://127.0.0.1:10000/devstoreaccount1.',
    },
  ],
  formats: [],
  range: undefined,
  example: { account: 'myexports', container: 'events', prefix: 'mixpanel/', sas_token: 'sv=2025-01-05&sig=secret' },
  createSource,
});

/** Dependencies of every request. */
interface AzureDeps {
  readonly api: ExportApi;
  readonly sign: SignRequest;
  /** Of the container, without a trailing slash. */
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
  const endpoint = baseUrlOf(textSetting(settings, 'endpoint'), 'endpoint', `https://${account}.blob.core.windows.net`);
  const { sign, secrets } = azureAccess({
    account,
    sas: textSetting(settings, 'sas_token'),
    key: textSetting(settings, 'account_key'),
    now: host.now,
  });
  const api = createExportApi(host, { name, secrets });
  const deps = { api, sign, url: `${endpoint}/${container}`, container };
  const store: ObjectStore = {
    list: (prefix, context) => listPages(deps, prefix, context),
    read: (part, context) => readBlob(deps, part, context),
  };
  return bucketSource(store, settings, host);
}

async function* listPages(
  deps: AzureDeps,
  prefix: string,
  context: SourceContext,
): AsyncGenerator<readonly ListedObject[]> {
  for (let marker = ''; ;) {
    const query = { restype: 'container', comp: 'list', prefix, ...(marker === '' ? {} : { marker }) };
    const url = `${deps.url}?${new URLSearchParams(query).toString().replaceAll('+', '%20')}`;
    const page = await askAgain(context, async () => readBlobPage(await requestPage(deps, url, context)));
    yield page.blobs.map(listedObject);
    marker = page.next;
    if (marker === '') return;
  }
}

async function requestPage(deps: AzureDeps, url: string, { signal }: SourceContext): Promise<string> {
  const response = await deps.api.ask({ ...deps.sign({ url, headers: {} }), accepted: [200, 404] }, signal);
  const body = await readWhole(response, { name, bytesMax: pageBytesMax, signal });
  if (response.status === 200) return body.toString('utf8');
  throw new SourceError(
    `expected the container ${deps.container}, but it does not exist, or it is not public and no token was given`,
  );
}

function listedObject({ name: blob, bytes, etag }: ListedBlob): ListedObject {
  const part = { key: shortKey(blob), bytes, identity: etag, stable: true, detail: { name: blob } };
  return { key: blob, bytes, part };
}

function readBlob(deps: AzureDeps, part: SourcePart, { signal }: SourceContext): AsyncIterable<Buffer> {
  const blob = part.detail?.['name'];
  if (typeof blob !== 'string') throw new SourceError(`${part.key} not found in the container`);
  const url = `${deps.url}/${blob.split('/').map(encodeURIComponent).join('/')}`;
  return resumedBody(async (at) => {
    const headers = { 'if-match': part.identity ?? '', 'accept-encoding': 'identity', range: `bytes=${at}-` };
    const response = await deps.api.ask({ ...deps.sign({ url, headers }), accepted: [200, 206, 404, 412] }, signal);
    if (response.status === 206 || (response.status === 200 && at === 0)) return response.body;
    throw new SourceChangedError(`${blob} has been overwritten or removed since it was listed`);
  });
}

interface ListedBlob {
  readonly name: string;
  readonly bytes: number;
  readonly etag: string;
}

/** Marker of the next page; empty after the last one. */
interface BlobPage {
  readonly blobs: readonly ListedBlob[];
  readonly next: string;
}

/**
 * Parses a page of a listing. The XML has no attributes or comments in the parts read here, and its texts are escaped.
 * @throws SourceWaitError for an incomplete page
 */
function readBlobPage(xml: string): BlobPage {
  if (!xml.trimEnd().endsWith('</EnumerationResults>')) throw notAPage();
  const blobs = [...xml.matchAll(/<Blob>(.*?)<\/Blob>/gs)].map(([, blob = '']) => {
    const [name, size, etag] = [textOf(blob, 'Name'), textOf(blob, 'Content-Length'), textOf(blob, 'Etag')];
    if (name === undefined || size === undefined || etag === undefined) throw notAPage();
    return { name, bytes: Number(size), etag: etag.startsWith('"') ? etag : `"${etag}"` };
  });
  return { blobs, next: textOf(xml.slice(xml.lastIndexOf('</Blobs>')), 'NextMarker') ?? '' };
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function textOf(xml: string, tag: string): string | undefined {
  const [, encoded, text] = new RegExp(`<${tag}( Encoded="true")?>([^<]*)</${tag}>`).exec(xml) ?? [];
  const plain = text?.replaceAll(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (all, hex, decimal, name) => {
    if (hex !== undefined) return String.fromCodePoint(parseInt(String(hex), 16));
    return decimal === undefined ? (entities[String(name)] ?? String(all)) : String.fromCodePoint(Number(decimal));
  });
  // Names that XML cannot represent are percent-encoded.
  return encoded === undefined || plain === undefined ? plain : decodeURIComponent(plain);
}

function notAPage(): SourceWaitError {
  return new SourceWaitError('Azure Blob Storage: expected a page of a listing, got something else', {
    unlimited: false,
  });
}
