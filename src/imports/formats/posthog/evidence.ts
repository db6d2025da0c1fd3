import type { Evidence } from '../evidence.ts';

export const evidence: Evidence = {
  times: {
    rule: 'The time is `timestamp`, which PostHog has corrected by sent_at when it took the event in.',
    sources: ['https://posthog.com/docs/data/timestamps'],
  },
  zone: {
    rule: 'ISO 8601; times without a zone are UTC, as the table of events has them, unless the option says otherwise.',
    sources: [
      'https://github.com/PostHog/posthog/blob/055f2c3c383aeb33dab89e232db0ab2e2d723fd8/posthog/models/event/sql.py',
    ],
    option: 'time_zone',
  },
  ids: {
    rule: 'The uuid is that of the event, in every spelling; without one it follows from the content.',
    sources: ['https://posthog.com/docs/data-pipelines/batch-exports'],
  },
  links: {
    rule: 'distinct_id stays. Ids of one exported person are joined again by the id of the person. Events of ids that mean nobody make no person, except those about a profile, such as `$identify`.',
    sources: ['https://posthog.com/docs/data-pipelines/batch-exports'],
    option: 'link_persons',
  },
  counts: {
    rule: 'Batch exports go by the time of arrival, so an event is in one of them whatever its own time; the same event again is stored once.',
    sources: ['https://github.com/PostHog/posthog.com/pull/17153'],
  },
};
