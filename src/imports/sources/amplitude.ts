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
/** Amplitude takes about two hours until received events can be exported. */
const settledMs = 3 * hourMs;

const hosts: Readonly<Record<string, string>> = {
  us: 'https://amplitude.com',
  eu: 'https://analytics.eu.amplitude.com',
};

/** Raw events by the hour of their receipt. */
export const amplitude = defineImportSource({
  slug: 'amplitude',
  name: 'Amplitude',
  description:
    'Imports raw events through the export API of Amplitude. The range refers to their arrival there, not to the event times: ' +
    'events that were sent late are in later hours.',
  fields: [
    {
      key: 'region',
      name: 'Region',
      type: 'choice',
      choices: ['us', 'eu'],
      default: 'us',
      hint: 'Data region of the Amplitude project.',
    },
    {
      key: 'api_key',
      name: 'API key',
      type: 'string',
      required: true,
      hint: 'From the settings of the Amplitude project.',
    },
    {
      key: 'secret_key',
      name: 'Secret key',
      type: 'string',
      required: true,
      secret: true,
      sent_to: ['base_url'],
      hint: 'From the settings of the Amplitude project.',
    },
    {
      key: 'base_url',
      name: 'Address',
      type: 'string',
      hint: 'Only for a proxy: its address, used instead of Amplitude’s.',
    },
  ],
  formats: ['amplitude', 'mapping'],
  range:
    'Whole hours (UTC) in which Amplitude received the events (server_upload_time); their own times may be outside. ' +
    'Without an end: up to yesterday.',
  example: { api_key: 'key', secret_key: 'secret' },
  createSource,
});

interface AmplitudeDeps {
  readonly api: ExportApi;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tempDir: string;
  /** Keys of days that are too large for one request. */
  readonly large: Set<string>;
}

function createSource(settings: SettingValues, host: SourceHost): Source {
  const standard = hosts[textSetting(settings, 'region', 'us')];
  if (standard === undefined) throw wrongSetting('region', 'expected us or eu');
  const key = textSetting(settings, 'api_key').trim();
  const secret = textSetting(settings, 'secret_key').trim();
  if (key === '' || secret === '') throw wrongSetting('api_key', 'expected it together with "secret_key"');
  const authorization = basicAuth(key, secret);
  const deps: AmplitudeDeps = {
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
    open: (part, context) => partChunks(deps, part, context),
  };
}

/** Requests a whole day, or by the hour if Amplitude rejects it as too large. */
async function* partChunks(
  deps: AmplitudeDeps,
  part: SourcePart,
  { signal }: SourceContext,
): AsyncGenerator<RecordChunk> {
  const slice = sliceOf(part);
  if (!deps.large.has(part.key)) {
    const whole = await requestSlice(deps, slice, signal);
    if (whole !== 'too large') {
      if (whole !== 'empty') yield* recordsOf(deps, part.key, whole, signal);
      return;
    }
    deps.large.add(part.key);
  }
  yield* byHour(deps, slice, signal);
}

async function* byHour(deps: AmplitudeDeps, slice: Slice, signal: AbortSignal): AsyncGenerator<RecordChunk> {
  let bytesBefore = 0;
  for (let from = slice.from; from < slice.to; from += hourMs) {
    const hour = { from, to: from + hourMs };
    const answer = await requestSlice(deps, hour, signal);
    if (answer === 'too large') {
      throw new SourceError(
        `${name}: the hour ${keyOf(hour)} is too large for its export API; export it to a bucket there and import that`,
      );
    }
    if (answer === 'empty') continue;
    let bytesRead = 0;
    for await (const chunk of recordsOf(deps, keyOf(hour), answer, signal)) {
      bytesRead = chunk.bytesRead;
      yield { ...chunk, bytesRead: bytesBefore + bytesRead };
    }
    bytesBefore += bytesRead;
  }
}

type Answer = OutboundStreamResponse | 'empty' | 'too large';

async function requestSlice(deps: AmplitudeDeps, slice: Slice, signal: AbortSignal): Promise<Answer> {
  const { api, url, headers } = deps;
  // Both hours are included.
  const query = new URLSearchParams({ start: hourOf(slice.from), end: hourOf(slice.to - hourMs) });
  const isHour = slice.to - slice.from <= hourMs;
  const response = await api.ask({ url: `${url}?${query}`, headers, accepted: [200, 400, 404, 504] }, signal);
  if (response.status === 200) return response;
  const { error, words } = await api.refusal(response);
  // An HTML page of a proxy or another service does not mean that there is no data.
  if (response.status === 404 && response.headers['content-type']?.includes('html') !== true) return 'empty';
  if (response.status === 400 && /large|size|exceed/i.test(words)) return 'too large';
  if (response.status === 504 && !isHour) return 'too large';
  throw error;
}

async function* recordsOf(
  { tempDir }: AmplitudeDeps,
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
  throw new SourceError(`${name}: the part ${key} does not contain its hours`, { advice: 'startAgain' });
}

/** `20240301T05` */
function hourOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 13).replaceAll('-', '');
}
