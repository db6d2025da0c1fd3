import type { Evidence } from '../evidence.ts';

export const evidence: Evidence = {
  times: {
    rule: 'The time is true_tstamp, else derived_tstamp, which is corrected for the clock of the device, else collector_tstamp.',
    sources: ['https://docs.snowplow.io/docs/events/timestamps'],
  },
  zone: {
    rule: 'All times are UTC.',
    sources: ['https://docs.snowplow.io/docs/events/timestamps'],
  },
  ids: {
    rule: 'The uuid is event_id.',
    sources: ['https://docs.snowplow.io/docs/fundamentals/canonical-event'],
  },
  links: {
    rule: 'user_id is the user, domain_userid, the user id of a mobile session or network_userid the device. Trackers without cookies send none; the option says what happens to such events.',
    sources: ['https://docs.snowplow.io/docs/sources/web-trackers/anonymous-tracking/'],
    option: 'anonymous',
  },
  counts: {
    rule: "Delivery is at least once, and robots reuse ids: events of one event_id are one, as in Snowplow's own models. Failed events are skipped and counted.",
    sources: [
      'https://docs.snowplow.io/docs/modeling-your-data/modeling-your-data-with-dbt/package-mechanics/deduplication/',
    ],
  },
};
