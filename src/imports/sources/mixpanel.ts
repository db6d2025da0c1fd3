import { hourMs, dayMs } from '../../base/time.ts';
import {
  SourceError,
  type RecordChunk,
  type Source,
  type SourceContext,
  type SourceHost,
  type SourcePart,
} from '../source.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource, wrongSetting } from '../../plugins/plugin.ts';
import { integerSetting, neededSetting, textSetting } from '../../plugins/setting-values.ts';
import { dayOf, daySlices, keyOf } from './day-slices.ts';
import { ndjsonChunks } from './ndjson-chunks.ts';
import { createPace, type Pace } from './pace.ts';
import { baseUrlOf, basicAuth, createExportApi, type ExportApi } from './export-api.ts';
import { lookupTable } from './mixpanel-lookup-tables.ts';
import { profileChunks, type GroupKey } from './mixpanel-profiles.ts';

const name = 'Mixpanel';
/** Mixpanel's limits per project, each less one, because its clock differs from ours. */
const paceRules = [
  { requests: 59, windowMs: hourMs },
  { requests: 2, windowMs: 1000 },
];
const profilesKey = 'profiles';

const hosts: Readonly<Record<string, { readonly data: string; readonly profiles: string }>> = {
  us: { data: 'https://data.mixpanel.com', profiles: 'https://mixpanel.com' },
  eu: { data: 'https://data-eu.mixpanel.com', profiles: 'https://eu.mixpanel.com' },
  in: { data: 'https://data-in.mixpanel.com', profiles: 'https://in.mixpanel.com' },
};

/** Raw events by day, and profiles of users. */
export const mixpanel = defineImportSource({
  slug: 'mixpanel',
  name: 'Mixpanel',
  description:
    'Imports events and profiles of users and groups through the export API of Mixpanel, within the rate limits of Mixpanel. For projects ' +
    'created before 2023, whose times are local, set the option `time_zone` of the format.',
  fields: [
    {
      key: 'region',
      name: 'Region',
      type: 'choice',
      choices: ['us', 'eu', 'in'],
      default: 'us',
      hint: 'Data region of the Mixpanel project: United States, European Union or India.',
    },
    {
      key: 'records',
      name: 'Records',
      type: 'choice',
      choices: ['events', 'profiles', 'both'],
      default: 'both',
      hint: 'Events of the range, current profiles of users, or both. Profiles are imported first.',
    },
    {
      key: 'group_keys',
      name: 'Group keys',
      type: 'string',
      visible_if: [
        ['records', 'profiles'],
        ['records', 'both'],
      ],
      hint:
        'Also imports group profiles: number and type of each group key, such as 1234567890:company, 2345678901:team. The number ' +
        'is in the address of a group’s page.',
    },
    {
      key: 'authentication',
      name: 'Authentication',
      type: 'choice',
      choices: ['service account', 'project secret'],
      default: 'service account',
      hint: 'A service account works for every project; the project secret is the older method.',
    },
    {
      key: 'service_account',
      name: 'Service account',
      type: 'string',
      visible_if: [['authentication', 'service account']],
      required: true,
      hint: 'User name of the service account, such as import.a1b2c3.mp-service-account.',
    },
    {
      key: 'service_secret',
      name: 'Secret of the service account',
      type: 'string',
      secret: true,
      sent_to: ['base_url'],
      visible_if: [['authentication', 'service account']],
      required: true,
      hint: 'Shown once, when the service account is created.',
    },
    {
      key: 'project_id',
      name: 'Project id',
      type: 'string',
      visible_if: [['authentication', 'service account']],
      required: true,
      hint: 'The number in the address of the Mixpanel project.',
    },
    {
      key: 'project_secret',
      name: 'Project secret',
      type: 'string',
      secret: true,
      sent_to: ['base_url'],
      visible_if: [['authentication', 'project secret']],
      required: true,
      hint: 'API secret in the settings of the Mixpanel project.',
    },
    {
      key: 'days_per_request',
      name: 'Days per request',
      type: 'number',
      integer: true,
      minimum: 1,
      maximum: 31,
      default: '1',
      hint: '1 to 31. Mixpanel allows 60 requests an hour: with one day each, three years take 18 hours. More for small projects.',
    },
    {
      key: 'base_url',
      name: 'Address',
      type: 'string',
      hint: 'Only for a proxy: its address, used instead of Mixpanel’s.',
    },
  ],
  formats: ['mixpanel', 'mapping'],
  range:
    'Whole days of the event’s time in the zone of the Mixpanel project: UTC, or its local time zone if created before 2023.',
  example: { service_account: 'import.mp-service-account', service_secret: 'secret', project_id: '1234567' },
  createSource,
});

interface MixpanelDeps {
  readonly api: ExportApi;
  readonly pace: Pace;
  /** A separate limit. */
  readonly profilesPace: Pace;
  readonly headers: Readonly<Record<string, string>>;
  readonly dataUrl: string;
  readonly profilesUrl: string;
  /** Parameters of every request. */
  readonly project: Readonly<Record<string, string>>;
}

function createSource(settings: SettingValues, host: SourceHost): Source {
  const deps = depsOf(settings, host);
  const records = textSetting(settings, 'records', 'both');
  const groups = groupKeysOf(settings);
  const days = integerSetting(settings, 'days_per_request', { standard: 1, min: 1, max: 31 });
  return {
    concurrency: 2,
    listParts: async (range) => {
      const parts: SourcePart[] = records === 'events' ? [] : profileParts(groups);
      if (records === 'profiles') return parts;
      const slices = daySlices(range, { name, now: host.now(), unitMs: dayMs, settledMs: hourMs, days });
      // `to` of the API is inclusive.
      const detail = (slice: { from: number; to: number }) => ({
        from: dayOf(slice.from),
        to: dayOf(slice.to - dayMs),
      });
      return [...parts, ...slices.map((slice) => ({ key: keyOf(slice), stable: false, detail: detail(slice) }))];
    },
    openTable: (wanted) => lookupTable(deps, { wanted, tempDir: host.tempDir }),
    open: (part, context) => {
      if (part.key === profilesKey) return profileChunks(deps, context);
      const group = groups.find((each) => part.key === groupPartKey(each));
      return group === undefined ? eventChunks(deps, part, context) : profileChunks(deps, context, group);
    },
  };
}

function profileParts(groups: readonly GroupKey[]): SourcePart[] {
  return [profilesKey, ...groups.map(groupPartKey)].map((key) => ({ key, stable: false }));
}

/** Keys of days never begin like this. */
function groupPartKey({ type }: GroupKey): string {
  return `${profilesKey} of ${type}`;
}

function groupKeysOf(settings: SettingValues): readonly GroupKey[] {
  const given = textSetting(settings, 'group_keys')
    .split(',')
    .map((each) => each.trim());
  const keys = given
    .filter((each) => each !== '')
    .map((each) => {
      const [, dataGroupId, type] = /^(-?\d{1,30}):(.{1,200})$/.exec(each) ?? [];
      if (dataGroupId !== undefined && type !== undefined) return { dataGroupId, type: type.trim() };
      throw wrongSetting(
        'group_keys',
        `expected number and type of each group key, such as 1234567890:company, got: ${each.slice(0, 60)}`,
      );
    });
  const types = keys.map(({ type }) => type);
  const twice = types.find((type, index) => types.indexOf(type) !== index);
  if (twice !== undefined) throw wrongSetting('group_keys', `expected each type once, got ${twice.slice(0, 60)} twice`);
  return keys;
}

function depsOf(settings: SettingValues, host: SourceHost): MixpanelDeps {
  const own = textSetting(settings, 'base_url');
  const region = textSetting(settings, 'region', 'us');
  const standard = hosts[region];
  if (standard === undefined) throw wrongSetting('region', 'expected us, eu or in');
  const { authorization, secret, project } = credentialsOf(settings);
  return {
    api: createExportApi(host, { name, secrets: [secret, authorization.slice('Basic '.length)] }),
    pace: createPace(name, paceRules, host.now),
    profilesPace: createPace(name, paceRules, host.now),
    headers: { authorization, 'accept-encoding': 'gzip' },
    dataUrl: baseUrlOf(own, 'base_url', standard.data),
    profilesUrl: baseUrlOf(own, 'base_url', standard.profiles),
    project,
  };
}

function credentialsOf(settings: SettingValues) {
  if (textSetting(settings, 'authentication', 'service account') === 'project secret') {
    const secret = neededSetting(settings, 'project_secret');
    return { authorization: basicAuth(secret, ''), secret, project: {} };
  }
  const secret = neededSetting(settings, 'service_secret');
  const authorization = basicAuth(neededSetting(settings, 'service_account'), secret);
  return { authorization, secret, project: { project_id: neededSetting(settings, 'project_id') } };
}

/** Records outside of the requested days (they arrived late) are kept. */
async function* eventChunks(
  { api, pace, headers, dataUrl, project }: MixpanelDeps,
  part: SourcePart,
  context: SourceContext,
): AsyncGenerator<RecordChunk> {
  const { signal } = context;
  const { from, to } = part.detail ?? {};
  if (typeof from !== 'string' || typeof to !== 'string') {
    throw new SourceError(`${name}: the part ${part.key} does not contain its days`, { advice: 'startAgain' });
  }
  await pace(context);
  const query = new URLSearchParams({ from_date: from, to_date: to, ...project });
  const response = await api.ask({ url: `${dataUrl}/api/2.0/export?${query}`, headers }, signal);
  yield* ndjsonChunks(response.body, name, signal);
}
