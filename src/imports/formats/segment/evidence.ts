import type { Evidence } from '../evidence.ts';

export const evidence: Evidence = {
  times: {
    rule: 'The time is `timestamp`, which is corrected already; without it receivedAt - (sentAt - originalTimestamp), also where a batch says it once for all of its messages.',
    sources: [
      'https://github.com/segmentio/segment-docs/blob/develop/src/connections/spec/common.md',
      'https://www.rudderstack.com/docs/event-spec/standard-events/common-fields/',
    ],
  },
  zone: {
    rule: 'ISO 8601 in UTC.',
    sources: [
      'https://github.com/segmentio/segment-docs/pull/6408',
      'https://www.rudderstack.com/docs/event-spec/standard-events/common-fields/',
    ],
  },
  ids: {
    rule: 'The uuid follows from messageId, by which Segment and RudderStack deduplicate.',
    sources: [
      'https://www.twilio.com/docs/segment/guides/duplicate-data',
      'https://www.rudderstack.com/docs/user-guides/administrators-guide/deduplication',
    ],
  },
  links: {
    rule: 'userId is the user, anonymousId the device; alias leads from previousId to userId.',
    sources: ['https://www.rudderstack.com/docs/event-spec/standard-events/common-fields/'],
  },
  counts: {
    rule: 'Segment drops repetitions within about 24 hours only, so an archive may hold a messageId again: the option says whether that is another event.',
    sources: ['https://www.twilio.com/docs/segment/guides/duplicate-data'],
    option: 'duplicates',
  },
};
