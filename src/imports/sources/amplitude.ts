import { hourMs, dayMs } from '../../base/time.ts';
import {
  SourceError,
  SourceWaitError,
  type RecordChunk,
  type Source,
  type SourceContext,
  type SourceHost,
  type SourcePart,
} from '../source.ts';
import type { OutboundStreamResponse } from '../../plugins/outbound/outbound.ts';
import { readRecords } from '../records/read-records.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource, wrongSetting } from '../../plugins/plugin.ts';
import { textSetting } from '../../plugins/setting-values.ts';
import { daySlices, keyOf, type Slice } from './day-slices.ts';
import { baseUrlOf, basicAuth, createExportApi, type ExportApi } from './export-api.ts';

const name = 'Amplitude';
/** Amplitude needs about two hours to make what it received ready. */
const settledMs = 3 * hourMs;

const hosts: Readonly<Record<string, string>> = {
  us: 'https://amplitude.com',
  eu: 'https://analytics.eu.amplitude.com',
};

/** Raw events by the hour at which Amplitude received them. */
export const amplitude = defineImportSource({
  slug: 'amplitude',
  name: 'Amplitude',
  description:
    'Imports raw events through the export API of Amplitude. The range is that of their arrival there, not of the events: ' +
    'events that were sent late lie in later hours.',
  fields: [
    {
      key: 'region',
      name: 'Region',
      type: 'choice',
      choices: ['us', 'eu'],
      default: 'us',
      hint: 'Where the Amplitude project keeps its data.',
    },
    {
      key: 'api_key',
      name: 'API key',
      type: 'string',
      required: true,
      hint: 'Of the Amplitude project, in its settings.',
    },
    {
      key: 'secret_key',
      name: 'Secret key',
      type: 'string',
      required: true,
      secret: true,
      sent_to: ['base_url'],
      hint: 'Of the Amplitude project, in its settings.',
    },
    {
      key: 'base_url',
      name: 'Address',
      type: 'string',
      hint: 'Only for a proxy: where to ask instead of Amplitude itself.',
    },
  ],
  formats: ['amplitude', 'mapping'],
  range:
    'Whole hours (UTC) in which Amplitude received the events (server_upload_time); their own times may lie outside. ' +
    'Without an end: up to yesterday.',
  example: { api_key: 'key', secret_key: 'secret' },
  createSource,
});

interface Asking {
  readonly api: ExportApi;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tempDir: string;
  /** Keys of days that are too large to be asked for at once. */
  readonly large: Set<string>;
}

function createSource(settings: SettingValues, host: SourceHost): Source {
  const standard = hosts[textSetting(settings, 'region', 'us')];
  if (standard === undefined) throw wrongSetting('region', 'expected us or eu');
  const key = textSetting(settings, 'api_key').trim();
  const secret = textSetting(settings, 'secret_key').trim();
  if (key === '' || secret === '') throw wrongSetting('api_key', 'expected it together with "secret_key"');
  const authorization = basicAuth(key, secret);
  const asking: Asking = {
    api: createExportApi(host, { name, secrets: [secret, authorization.slice('Basic '.length)] }),
    url: `${baseUrlOf(textSetting(settings, 'base_url'), 'base_url', standard)}/api/2/export`,
    headers: { authorization },
    tempDir: host.tempDir,
    large: new Set(),
  };
  return {
    concurrency: 2,
    listParts: async (range) =>
      daySlices(range, { name, now: host.now(), unitMs: hourMs, settledMs }).map((slice) => ({
        key: keyOf(slice),
        stable: false,
        detail: { from: slice.from, to: slice.to },
      })),
    open: (part, context) => partChunks(asking, part, context),
  };
}

/** A day at once; one that Amplitude finds too large by the hour. */
async function* partChunks(asking: Asking, part: SourcePart, { signal }: SourceContext): AsyncGenerator<RecordChunk> {
  const slice = sliceOf(part);
  if (!asking.large.has(part.key)) {
    const whole = await askSlice(asking, slice, signal);
    if (whole !== 'too large') {
      if (whole !== 'empty') yield* recordsOf(asking, part.key, whole, signal);
      return;
    }
    asking.large.add(part.key);
  }
  yield* byHour(asking, slice, signal);
}

async function* byHour(asking: Asking, slice: Slice, signal: AbortSignal): AsyncGenerator<RecordChunk> {
  let bytesBefore = 0;
  for (let from = slice.from; from < slice.to; from += hourMs) {
    const hour = { from, to: from + hourMs };
    const answer = await askSlice(asking, hour, signal);
    if (answer === 'too large') {
      throw new SourceError(
        `${name}: the hour ${keyOf(hour)} is too large for its export API; export it to a bucket there and import that`,
      );
    }
    if (answer === 'empty') continue;
    let bytesRead = 0;
    for await (const chunk of recordsOf(asking, keyOf(hour), answer, signal)) {
      bytesRead = chunk.bytesRead;
      yield { ...chunk, bytesRead: bytesBefore + bytesRead };
    }
    bytesBefore += bytesRead;
  }
}

type Answer = OutboundStreamResponse | 'empty' | 'too large';

async function askSlice(asking: Asking, slice: Slice, signal: AbortSignal): Promise<Answer> {
  const { api, url, headers } = asking;
  // Both hours are included.
  const query = new URLSearchParams({ start: hourOf(slice.from), end: hourOf(slice.to - hourMs) });
  const isHour = slice.to - slice.from <= hourMs;
  const response = await api.ask({ url: `${url}?${query}`, headers, accepted: [200, 400, 404, 504] }, signal);
  if (response.status === 200) return response;
  const { error, words } = await api.refusal(response);
  // A page of a proxy or of another service says nothing about data.
  if (response.status === 404 && response.headers['content-type']?.includes('html') !== true) return 'empty';
  if (response.status === 400 && /large|size|exceed/i.test(words)) return 'too large';
  if (response.status === 504 && !isHour) return 'too large';
  throw error;
}

async function* recordsOf(
  { tempDir }: Asking,
  key: string,
  response: OutboundStreamResponse,
  signal: AbortSignal,
): AsyncGenerator<RecordChunk> {
  let bytes = 0;
  const counted = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of response.body) {
      bytes += chunk.length;
      yield chunk;
    }
  };
  yield* readRecords(counted(), { name: `${name} ${key}.zip`, signal, tempDir });
  if (bytes === 0) {
    throw new SourceWaitError(`${name}: expected a zip archive for ${key}, got nothing`, { unlimited: false });
  }
}

function sliceOf({ key, detail }: SourcePart): Slice {
  const { from, to } = detail ?? {};
  if (typeof from === 'number' && typeof to === 'number' && to - from <= dayMs) return { from, to };
  throw new SourceError(`${name}: the part ${key} does not say its hours`, { advice: 'startAgain' });
}

/** `20240301T05` */
function hourOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 13).replaceAll('-', '');
}
