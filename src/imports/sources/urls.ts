import {
  SourceChangedError,
  SourceError,
  type Source,
  type SourceContext,
  type SourceHost,
  type SourcePart,
} from '../source.ts';
import { readRecords } from '../records/read-records.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource, wrongSetting } from '../../plugins/plugin.ts';
import { textSetting } from '../../plugins/setting-values.ts';
import { createExportApi, type ExportApi } from './export-api.ts';
import { fileKinds } from './files.ts';
import { shortKey } from './find-files.ts';

const urlsMax = 10_000;
const headsAtOnce = 8;
/** Statuses of HEAD for servers that do not support it, though GET may work (signed addresses allow only one method). */
const noHead = [400, 401, 403, 405, 501];

/** Files of web servers. */
export const urls = defineImportSource({
  slug: 'urls',
  name: 'Web addresses',
  description: `Imports files from a list of web addresses: ${fileKinds}`,
  fields: [
    {
      key: 'urls',
      name: 'Addresses',
      type: 'text',
      required: true,
      hint: 'One per line, https:// or http://. The query string is not shown in runs and reports.',
    },
    {
      key: 'headers',
      name: 'Headers',
      type: 'text',
      secret: true,
      sent_to: ['urls'],
      hint: 'Sent with every request, one per line, for example Authorization: Bearer …',
    },
  ],
  formats: [],
  range: undefined,
  example: { urls: 'https://files.example.com/2024-03.json.gz' },
  createSource,
});

interface Address {
  readonly key: string;
  readonly url: string;
  readonly api: ExportApi;
}

function createSource(settings: SettingValues, host: SourceHost): Source {
  const headers = { 'accept-encoding': 'identity', ...headersOf(textSetting(settings, 'headers')) };
  const addresses = addressesOf(textSetting(settings, 'urls'), Object.values(headers), host);
  return {
    concurrency: 4,
    async listParts(_range, { signal }) {
      const parts: SourcePart[] = [];
      for (let from = 0; from < addresses.length; from += headsAtOnce) {
        const some = addresses.slice(from, from + headsAtOnce);
        parts.push(...(await Promise.all(some.map((address) => partOf(address, headers, signal)))));
      }
      return parts;
    },
    open: (part, context) => readAddress(addresses, part, { headers, host, context }),
  };
}

async function* readAddress(
  addresses: readonly Address[],
  part: SourcePart,
  {
    headers,
    host,
    context: { signal, foreign },
  }: { readonly headers: Readonly<Record<string, string>>; readonly host: SourceHost; readonly context: SourceContext },
) {
  const address = addresses.find(({ key }) => key === part.key);
  if (address === undefined) throw new SourceError(`${part.key} is not an address of this import`);
  const response = await address.api.ask({ url: address.url, headers }, signal);
  if (part.stable && identityOf(response.headers).identity !== part.identity) {
    throw new SourceChangedError(`${part.key} has changed since it was listed`);
  }
  const isOneOfSeveral = addresses.length > 1;
  yield* readRecords(response.body, { name: part.key, signal, tempDir: host.tempDir, foreign, isOneOfSeveral });
}

async function partOf(
  { key, url, api }: Address,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<SourcePart> {
  const response = await api.ask({ url, method: 'HEAD', headers, accepted: [200, ...noHead] }, signal);
  // A response to HEAD has no body; reading it releases the connection.
  for await (const _chunk of response.body) continue;
  if (response.status !== 200) return { key, stable: false };
  const bytes = response.headers['content-length'];
  return {
    key,
    ...identityOf(response.headers),
    ...(bytes === undefined || !/^\d+$/.test(bytes) ? {} : { bytes: Number(bytes) }),
  };
}

/** The length alone shows that a file has grown, not that it is unchanged; and that of HEAD may differ from that of GET. */
function identityOf(headers: Readonly<Record<string, string>>): Pick<SourcePart, 'identity' | 'stable'> {
  const { etag, 'last-modified': modified, 'content-length': length } = headers;
  if (etag !== undefined && etag !== '') return { stable: true, identity: etag.slice(0, 300) };
  if (modified !== undefined) return { stable: true, identity: `${modified} ${length ?? ''}`.slice(0, 300) };
  return length === undefined ? { stable: false } : { stable: false, identity: `${length} bytes` };
}

/** Keys omit parts that may be secret; addresses that differ only in those are numbered. */
function addressesOf(text: string, secrets: readonly string[], host: SourceHost): Address[] {
  const given = [...new Set(text.split(/\s+/).filter((each) => each !== ''))];
  if (given.length === 0 || given.length > urlsMax) {
    throw wrongSetting('urls', `expected 1 to ${urlsMax} addresses, one per line, got ${given.length}`);
  }
  const seen = new Map<string, number>();
  return given.map((each) => {
    const url = URL.parse(each);
    if (url === null || !/^https?:$/.test(url.protocol)) {
      throw wrongSetting('urls', 'expected addresses such as https://files.example.com/a.json, got an invalid line');
    }
    const shown = shortKey(url.origin + url.pathname).slice(0, 480);
    const times = (seen.get(shown) ?? 0) + 1;
    seen.set(shown, times);
    const own = secretsIn(url);
    const api = createExportApi(host, {
      name: shown,
      secrets: [...own, ...secrets.filter((value) => value !== 'identity')],
    });
    return { key: times === 1 ? shown : `${shown} (${times})`, url: each, api };
  });
}

function secretsIn(url: URL): string[] {
  return [url.search, url.password, ...url.searchParams.values()].filter((value) => value.length > 3);
}

function headersOf(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
      if (name === undefined || value === undefined) {
        throw wrongSetting('headers', 'expected lines such as Authorization: Bearer …, got an invalid line');
      }
      return [name.toLowerCase(), value];
    }),
  );
}
