import type { Evidence } from '../evidence.ts';

export const evidence: Evidence = {
  times: {
    rule: 'The time is browserTimestamp.',
    sources: ['https://support.pendo.io/hc/en-us/articles/14121317891355-Data-Sync-schema-definitions'],
  },
  zone: {
    rule: 'All dates and times are UTC.',
    sources: ['https://support.pendo.io/hc/en-us/articles/14121317891355-Data-Sync-schema-definitions'],
  },
  ids: {
    rule: 'The uuid is eventId where it is a UUID, else it follows from it with visitor, time, kind and element.',
    sources: ['https://support.pendo.io/hc/en-us/articles/14121317891355-Data-Sync-schema-definitions'],
  },
  links: {
    rule: 'visitorId is the visitor, oldVisitorId the one before it was known, accountId the account.',
    sources: ['https://support.pendo.io/hc/en-us/articles/14121317891355-Data-Sync-schema-definitions'],
  },
  counts: {
    rule: 'The export of all events holds the tagged ones too: import it alone. Pendo sends a day again some nine days later, when it is final: the same event again is stored once.',
    sources: [
      'https://support.pendo.io/hc/en-us/articles/14121317891355-Data-Sync-schema-definitions',
      'https://support.pendo.io/hc/en-us/articles/14617105854875-Data-Sync-event-export-handling',
    ],
  },
};
