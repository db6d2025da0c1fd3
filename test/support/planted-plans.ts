import type { FormatOptions } from '../../src/imports/formats/format.ts';
import { adobeRecords } from '../../src/imports/formats/adobe-analytics/records.fixture.ts';
import { amplitudeRecords } from '../../src/imports/formats/amplitude/records.fixture.ts';
import { ga4Records } from '../../src/imports/formats/ga4/records.fixture.ts';
import { heapRecords } from '../../src/imports/formats/heap/records.fixture.ts';
import { juneRecords } from '../../src/imports/formats/june/records.fixture.ts';
import { mappingRecords, shopMapping } from '../../src/imports/formats/mapping/records.fixture.ts';
import { matomoRecords } from '../../src/imports/formats/matomo/records.fixture.ts';
import { millraceRecords } from '../../src/imports/formats/millrace/records.fixture.ts';
import { mixpanelRecords } from '../../src/imports/formats/mixpanel/records.fixture.ts';
import { mparticleRecords } from '../../src/imports/formats/mparticle/records.fixture.ts';
import { pendoRecords } from '../../src/imports/formats/pendo/records.fixture.ts';
import { plausibleRecords } from '../../src/imports/formats/plausible/records.fixture.ts';
import { posthogRecords } from '../../src/imports/formats/posthog/records.fixture.ts';
import { segmentRecords } from '../../src/imports/formats/segment/records.fixture.ts';
import { snowplowRecords } from '../../src/imports/formats/snowplow/records.fixture.ts';
import { statsigRecords } from '../../src/imports/formats/statsig/records.fixture.ts';

export type Row = Readonly<Record<string, unknown>>;

/** What an import makes of a planted line. */
export type Outcome =
  /** No record: the line is not JSON, or the reader refuses it. */
  | 'unreadable'
  /** The reader leaves it out. */
  | 'skipped'
  /** The reader makes an event that cannot be stored. */
  | 'refused'
  /** Events that have been there already, with the same uuids. */
  | 'same'
  /** Separate events. */
  | 'more';

/** How to spoil the records of a format, and what comes of it. */
export interface Plan {
  readonly records: (seed: number, count: number, recordsPerVisit?: number) => Iterable<unknown>;
  readonly options: FormatOptions;
  /** Whether what is said here holds for this record; others are left alone. */
  readonly fits: (record: Row) => boolean;
  /** With this in every place for an id of a person. */
  readonly withId: (record: Row, id: string | null) => Row;
  readonly withTime: (record: Row, time: string) => Row;
  readonly withText: (record: Row, text: string) => Row;
  readonly outcomes: {
    readonly missingId: Outcome;
    readonly junkId: Outcome;
    readonly badTime: Outcome;
    readonly duplicate: Outcome;
  };
}

const usual: Plan['outcomes'] = {
  missingId: 'unreadable',
  junkId: 'unreadable',
  badTime: 'unreadable',
  duplicate: 'same',
};

const always = (): boolean => true;

/** For records that are flat, by the names of their columns. */
function flat(
  records: Plan['records'],
  columns: { readonly ids: readonly string[]; readonly times: readonly string[] },
  rest: Partial<Omit<Plan, 'outcomes'>> & { readonly outcomes?: Partial<Plan['outcomes']> } = {},
): Plan {
  return {
    records,
    options: {},
    fits: always,
    withId: (record, id) => ({ ...record, ...Object.fromEntries(columns.ids.map((column) => [column, id])) }),
    withTime: (record, time) => ({ ...record, ...Object.fromEntries(columns.times.map((column) => [column, time])) }),
    withText: (record, text) => ({ ...record, planted: text }),
    ...rest,
    outcomes: { ...usual, ...rest.outcomes },
  };
}

/** The same for records with an object in which the columns stand. */
function within(member: string, plan: Plan): Plan {
  const change = (record: Row, changed: (inner: Row) => Row): Row => ({
    ...record,
    [member]: changed(rowOf(record[member])),
  });
  return {
    ...plan,
    withId: (record, id) => change(record, (inner) => plan.withId(inner, id)),
    withTime: (record, time) => change(record, (inner) => plan.withTime(inner, time)),
    withText: (record, text) => change(record, (inner) => plan.withText(inner, text)),
  };
}

function rowOf(value: unknown): Row {
  return typeof value === 'object' && value !== null ? (value as Row) : {};
}

function rowsOf(value: unknown): readonly Row[] {
  return Array.isArray(value) ? value.map(rowOf) : [];
}

const adobeAnalytics = flat(adobeRecords, {
  ids: ['post_visid_high', 'post_visid_low', 'visid_high', 'visid_low', 'mcvisid'],
  times: ['post_cust_hit_time_gmt', 'hit_time_gmt', 'date_time'],
});

const amplitude = flat(
  amplitudeRecords,
  {
    ids: ['user_id', 'device_id', 'amplitude_id'],
    times: ['event_time', 'client_event_time', 'server_received_time'],
  },
  {
    fits: ({ event_type }) => event_type === 'Order Done',
    withText: (record, text) => ({ ...record, event_properties: { planted: text } }),
    outcomes: { junkId: 'more' },
  },
);

const ga4 = flat(
  ga4Records,
  { ids: ['user_id', 'user_pseudo_id'], times: ['event_timestamp'] },
  {
    fits: ({ event_name, user_pseudo_id }) => event_name === 'purchase' && user_pseudo_id !== null,
    outcomes: { missingId: 'skipped', junkId: 'skipped' },
  },
);

const millrace = flat(
  millraceRecords,
  { ids: ['distinct_id'], times: ['timestamp'] },
  {
    withText: (record, text) => ({ ...record, properties: { planted: text } }),
    // What is stored stays.
    outcomes: { junkId: 'more' },
  },
);

const heap = flat(
  heapRecords,
  { ids: ['user_id', 'identity', 'id'], times: ['time'] },
  { fits: ({ event_id }) => event_id !== undefined },
);

const june = flat(
  juneRecords,
  { ids: ['user_id', 'anonymous_id'], times: ['timestamp'] },
  { fits: ({ type }) => type === 'track', outcomes: { duplicate: 'more' } },
);

const mapping = flat(
  mappingRecords,
  { ids: ['customer', 'visitor'], times: ['at'] },
  { options: shopMapping, outcomes: { junkId: 'more' } },
);

const matomo: Plan = {
  ...flat(matomoRecords, { ids: ['userId', 'visitorId'], times: [] }),
  fits: ({ actionDetails }) => rowsOf(actionDetails).some(({ type }) => type === 'action'),
  withTime: (record, timestamp) => ({
    ...record,
    actionDetails: Array.from(rowsOf(record['actionDetails']), (action) => ({ ...action, timestamp })),
  }),
};

const mixpanel: Plan = {
  ...within(
    'properties',
    flat(
      mixpanelRecords,
      { ids: ['distinct_id', '$user_id', '$device_id', '$distinct_id_before_identity'], times: ['time'] },
      { outcomes: { junkId: 'more' } },
    ),
  ),
  fits: (record) => {
    const { $insert_id, price } = rowOf(record['properties']);
    return $insert_id !== undefined && price !== undefined;
  },
};

const mparticle: Plan = {
  ...flat(mparticleRecords, { ids: [], times: [] }),
  fits: ({ batch_id, events }) =>
    batch_id !== undefined && rowsOf(events).some(({ event_type }) => event_type === 'custom_event'),
  withId: (record, id) => ({
    ...record,
    mpid: id,
    user_identities: [{ identity_type: 'customer_id', identity: id }],
    events: Array.from(rowsOf(record['events']), (event) => ({
      ...event,
      data: { ...rowOf(event['data']), session_uuid: id },
    })),
  }),
  withTime: (record, time) => ({
    ...record,
    events: Array.from(rowsOf(record['events']), (event) => ({
      ...event,
      data: { ...rowOf(event['data']), timestamp_unixtime_ms: time },
    })),
  }),
};

const pendo = flat(
  pendoRecords,
  { ids: ['visitorId', 'oldVisitorId'], times: ['browserTimestamp'] },
  { fits: ({ eventId }) => eventId !== null },
);

/** Totals have no ids: a row without a date, and one with the name of a junk id as date, stand in for them. */
const plausible = flat(
  plausibleRecords,
  { ids: ['date'], times: ['date'] },
  { options: { synthesise: 'yes' }, fits: ({ page, pageviews }) => page !== undefined && pageviews !== '0' },
);

const posthog = flat(
  posthogRecords,
  { ids: ['distinct_id'], times: ['timestamp'] },
  {
    fits: ({ uuid, properties, event }) =>
      uuid !== undefined && typeof properties === 'object' && event === 'Order Done',
    withText: (record, text) => ({ ...record, properties: { ...rowOf(record['properties']), planted: text } }),
    outcomes: { junkId: 'more' },
  },
);

const segment = flat(
  segmentRecords,
  { ids: ['userId', 'anonymousId'], times: ['timestamp'] },
  {
    fits: ({ type }) => type === 'track',
    withText: (record, text) => ({ ...record, properties: { ...rowOf(record['properties']), planted: text } }),
    outcomes: { junkId: 'more', badTime: 'refused', duplicate: 'more' },
  },
);

const snowplow = flat(
  (seed, count) => snowplowRecords(seed, count, 'csv'),
  {
    ids: ['user_id', 'domain_userid', 'network_userid'],
    times: ['true_tstamp', 'derived_tstamp', 'collector_tstamp'],
  },
  { fits: ({ event }) => event !== 'page_ping', outcomes: { missingId: 'more', junkId: 'more' } },
);

const statsig = flat(
  statsigRecords,
  { ids: ['userID', 'deviceID'], times: ['timestamp'] },
  {
    fits: ({ data, id, name, event_name }) =>
      data === undefined && id !== undefined && (name ?? event_name) !== 'auto_capture::session_start',
  },
);

/** Every format by its slug. */
export const plans: Readonly<Record<string, Plan>> = {
  'adobe-analytics': adobeAnalytics,
  amplitude,
  ga4,
  heap,
  june,
  mapping,
  matomo,
  millrace,
  mixpanel,
  mparticle,
  pendo,
  plausible,
  posthog,
  segment,
  snowplow,
  statsig,
};
