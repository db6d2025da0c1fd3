import {
  SourceError,
  type Source,
  type SourceHost,
  type SourcePart,
  type RecordChunk,
  type SourceContext,
} from '../source.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource, wrongSetting } from '../../plugins/plugin.ts';
import { integerSetting, textSetting } from '../../plugins/setting-values.ts';
import { daySlices, keyOf } from './day-slices.ts';
import { baseUrlOf, createExportApi } from './export-api.ts';
import { eventPages, wholeSlice, type EventsApi, type MicroSlice, type FoundEvent } from './posthog-pages.ts';
import { dayMs } from '../../base/time.ts';
import { chunkOf } from './parse-page.ts';

const name = 'The other service';
const settledMs = 3_600_000;

/** Events of another service with the same API, day by day. */
export const posthog = defineImportSource({
  slug: 'posthog',
  name: 'PostHog or Millrace',
  description:
    'Imports the events of a project of another PostHog-compatible service through its events API. For many millions of ' +
    'events use a batch export there, and import its files or its bucket with the format posthog.',
  fields: [
    {
      key: 'host',
      name: 'Address',
      type: 'string',
      required: true,
      hint: 'Address of the service to read from, such as https://eu.posthog.com, or another Millrace.',
    },
    {
      key: 'project_id',
      name: 'Project id',
      type: 'string',
      required: true,
      hint: 'Number of the project in that service.',
    },
    {
      key: 'personal_api_key',
      name: 'Personal API key',
      type: 'string',
      required: true,
      secret: true,
      sent_to: ['host'],
      hint: 'A personal key of that service that may read events (scope `query:read`).',
    },
    {
      key: 'page_size',
      name: 'Events per page',
      type: 'number',
      integer: true,
      minimum: 1,
      maximum: 10_000,
      default: '1000',
      hint: '1 to 10000. Fewer if the other service is slow.',
    },
  ],
  formats: ['posthog', 'mapping'],
  range: 'Time of the events. Without an end: up to yesterday (UTC).',
  example: { host: 'https://eu.posthog.com', project_id: '42', personal_api_key: 'phx_key' },
  createSource,
});

function createSource(settings: SettingValues, host: SourceHost): Source {
  const key = textSetting(settings, 'personal_api_key').trim();
  if (key === '') throw wrongSetting('personal_api_key', 'expected a key, got none');
  const projectId = textSetting(settings, 'project_id').trim();
  if (!/^\d{1,18}$/.test(projectId)) throw wrongSetting('project_id', 'expected a number');
  const given = textSetting(settings, 'host');
  if (given.trim() === '') throw wrongSetting('host', 'expected an address such as https://eu.posthog.com');
  const events: EventsApi = {
    name,
    api: createExportApi(host, { name, secrets: [key] }),
    url: `${baseUrlOf(given, 'host', '')}/api/projects/${projectId}/events`,
    headers: { authorization: `Bearer ${key}`, accept: 'application/json' },
    limit: integerSetting(settings, 'page_size', { standard: 1000, min: 1, max: 10_000 }),
  };
  const open = createEventWindows(events);
  return {
    concurrency: 1,
    listParts: async (range) =>
      daySlices(range, { name, now: host.now(), unitMs: 1, settledMs }).map((slice) => ({
        key: keyOf(slice),
        // Late events shift all older ones.
        stable: false,
        detail: { from: slice.from, to: slice.to },
      })),
    open: (part, context) => open(sliceOf(part), context),
  };
}

function sliceOf({ key, detail }: SourcePart): MicroSlice {
  const { from, to } = detail ?? {};
  if (typeof from !== 'number' || typeof to !== 'number') {
    throw new SourceError(`the part ${key} does not contain its times`, { advice: 'startAgain' });
  }
  return { from: from * 1000, to: to * 1000 };
}

const dayMicros = dayMs * 1000;
const daysMax = 128;

/** The result of one request: all events of a time span. */
interface Window extends MicroSlice {
  readonly events: readonly FoundEvent[];
}

/**
 * Opens slices in order. With few events, one request covers many slices: while all events fit into one page, the next request
 * covers twice the time, and otherwise a single slice again.
 */
function createEventWindows(
  events: EventsApi,
): (slice: MicroSlice, context: SourceContext) => AsyncGenerator<RecordChunk> {
  let days = 1;
  let window: Window | undefined;
  return async function* open(slice, context) {
    if (window === undefined || slice.from < window.from || slice.to > window.to) {
      const stretch = { from: slice.from, to: Math.max(slice.to, slice.from + days * dayMicros) };
      const found = days === 1 ? undefined : await wholeSlice(events, stretch, context);
      window = found === undefined ? undefined : { ...stretch, events: found };
      days = window === undefined && days > 1 ? 1 : days;
    }
    if (window !== undefined) {
      const records = window.events.filter(({ micros }) => micros >= slice.from && micros < slice.to);
      if (slice.to >= window.to) days = Math.min(daysMax, days * 2);
      if (records.length > 0)
        yield chunkOf(
          records.map(({ record }) => record),
          0,
        );
      return;
    }
    let count = 0;
    for await (const chunk of eventPages(events, slice, context)) {
      count += chunk.count;
      yield chunk;
    }
    days = count * 4 < events.limit ? 2 : 1;
  };
}
