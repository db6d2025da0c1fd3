/** Responses of the stand-in in the name of other services: as little as plugins need to continue. */
export interface StandInRequest {
  readonly host: string;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface StandInAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
}

type Answer = (request: StandInRequest) => StandInAnswer;

const day = '2024-05-01T10:00:00Z';
const ok: Answer = () => ({ json: { ok: true, status: 'ok' } });

const github: Answer = ({ path }) => {
  if (path.includes('/stargazers')) {
    const star = (id: number): object => ({
      starred_at: `2024-05-0${id}T10:00:00Z`,
      user: { login: `u${id}`, url: 'https://api.github.com/users/u', id, avatar_url: '' },
    });
    return { json: [star(1), star(2)] };
  }
  if (path.endsWith('/releases')) return { json: [{ name: 'v1.0.0', published_at: day }] };
  return { json: { id: 42 } };
};

const posthog: Answer = ({ path, method }) => {
  if (path.includes('/insights')) {
    return { json: { results: [{ filters: { insight: 'TRENDS' }, result: [{ data: [3, 0, 0] }] }] } };
  }
  if (method === 'POST') return { status: /annotation|cohort/.test(path) ? 201 : 200, json: { status: 1 } };
  return { json: { results: [], next: null } };
};

const hubspot: Answer = ({ method }) => {
  if (method !== 'GET') return { status: 201, json: { id: '1' } };
  return { json: { results: [{ properties: { email: 'ann@example.com', hubspotscore: '5' } }] } };
};

const zendesk: Answer = ({ path }) => {
  if (path.includes('/users/')) return { json: { user: { id: 7, email: 'ann@example.com' } } };
  const isLast = /[?&]page=([2-9])/.test(path);
  return { json: { tickets: isLast ? [] : [{ id: 1, requester_id: 7, status: 'open', created_at: day }] } };
};

const stripe: Answer = ({ path }) => {
  if (!path.startsWith('/v1/invoices')) return { json: { data: [], has_more: false } };
  const seconds = Date.parse(day) / 1000;
  const customer = { id: 'cus_1', email: 'ann@example.com', created: seconds, metadata: {}, name: 'Ann' };
  const plan = { product: { name: 'Pro' } };
  const subscription = { id: 'sub_1', created: seconds, customer: 'cus_1', status: 'active', plan };
  const amounts = {
    amount_paid: 1200,
    amount_due: 1200,
    period_end: seconds,
    status_transitions: { paid_at: seconds },
  };
  return { json: { data: [{ id: 'in_1', customer, subscription, ...amounts }], has_more: false } };
};

const shopify: Answer = () => ({
  json: { orders: [{ id: 1, order_number: 1, currency: 'EUR', customer: { email: 'ann@example.com' } }] },
});

const orbit: Answer = () => {
  const timeframe = { start_date: day, end_date: day, start_date_last: day, end_date_last: day };
  const report = { count: 3 };
  const attributes = { workspace_id: 'w', timeframe, overview: report, members: report, activities: report };
  return { json: { data: { attributes } } };
};

const appfigures: Answer = ({ path }) => {
  if (!path.includes('/reviews')) return { json: { 1: { '2024-05-01': { downloads: 3, revenue: '1.25' } } } };
  return { json: { this_page: 1, pages: 1, reviews: [{ id: 'r1', date: '2024-05-01T10:00:00', stars: '5.00' }] } };
};

/** The AWS JSON protocol: the operation is in a header. */
const kinesis: Answer = ({ headers }) => {
  const operation = String(headers['x-amz-target']).split('.')[1];
  const aws = { 'content-type': 'application/x-amz-json-1.1' };
  const record = { Data: Buffer.from('{"event":"from kinesis","user":"u1"}').toString('base64'), SequenceNumber: '1' };
  if (operation === 'DescribeStream') {
    return { headers: aws, json: { StreamDescription: { Shards: [{ ShardId: 'shard-0' }] } } };
  }
  if (operation === 'GetShardIterator') return { headers: aws, json: { ShardIterator: 'first' } };
  return { headers: aws, json: { Records: [record], MillisBehindLatest: 0 } };
};

const databricks: Answer = ({ path }) => {
  if (path.includes('/dbfs/')) return { json: { handle: 1 } };
  return { json: { job_id: 1, run_id: 1 } };
};

const fixed =
  (json: unknown, status = 200): Answer =>
  () => ({ status, json });

/** Names that have to lead to the stand-in, and what it answers under them. */
export const standInHosts: ReadonlyMap<string, Answer> = new Map([
  ['api.github.com', github],
  [
    'gitlab.com',
    ({ path }) => ({ json: path.endsWith('/tags') ? [{ name: 'v1', commit: { authored_date: day } }] : {} }),
  ],
  [
    'bitbucket.org',
    ({ path }) => ({ json: path.endsWith('/tags') ? { values: [{ name: 'v1', target: { date: day } }] } : {} }),
  ],
  ['app.posthog.com', posthog],
  ['openexchangerates.org', fixed({ rates: { USD: 1, EUR: 0.9, GBP: 0.8 } })],
  ['api.customer.io', fixed({ ip_addresses: [] })],
  ['track.customer.io', fixed({})],
  ['api.hubapi.com', hubspot],
  ['api.laudspeaker.com', ok],
  ['hosted.rudderlabs.com', ok],
  ['api.avo.app', ok],
  ['compat.cloud.databricks.com', databricks],
  ['api.engage.so', ok],
  ['sink.outfunnel.com', ok],
  [
    'api.intercom.io',
    ({ path }) => (path === '/events' ? { status: 202, json: {} } : { json: { total_count: 1, data: [] } }),
  ],
  ['analytics.planhat.com', ok],
  ['app.orbit.love', orbit],
  ['events.pagerduty.com', fixed({ status: 'success', dedup_key: 'k1' }, 202)],
  ['api.appfigures.com', appfigures],
  ['api.rss2json.com', fixed({ items: [{ guid: 'g1', title: 'News', pubDate: '2024-05-01 10:00:00' }] })],
  ['compat.myshopify.com', shopify],
  ['api.twilio.com', fixed({ sid: 'SM1' }, 201)],
  ['compat.zendesk.com', zendesk],
  ['compat.my.salesforce.com', fixed({ access_token: 't', id: '1' })],
  ['api.sendgrid.com', fixed({ custom_fields: [{ id: 'e1_T', name: 'plan' }], job_id: 'j' }, 202)],
  ['api.sendvia.com', ok],
  ['events.octolane.com', ok],
  ['api.stripe.com', stripe],
  ['cdn.syndication.twimg.com', fixed([{ followers_count: 7 }])],
  ['apilayer.net', fixed({ score: 0.8, did_you_mean: '' })],
  ['hooks.example.com', ok],
  ['kinesis.us-east-1.amazonaws.com', kinesis],
  ['compat.s3.us-east-1.amazonaws.com', () => ({ headers: { etag: '"e1"' } })],
  ['compat.s3.amazonaws.com', () => ({ headers: { etag: '"e1"' } })],
]);

/** A database server has to stand under this name: Redshift plugins accept no other. */
export const redshiftHost = 'compat.redshift.amazonaws.com';
