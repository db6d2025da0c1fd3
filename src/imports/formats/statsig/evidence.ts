import type { Evidence } from '../evidence.ts';

export const evidence: Evidence = {
  times: {
    rule: 'The time is `timestamp` of the event, which Statsig has put right by the clock of the client.',
    sources: ['https://docs.statsig.com/api-reference/events/log-custom-events'],
  },
  zone: {
    rule: 'Milliseconds since 1970 or ISO 8601. Times without a zone are UTC in what Statsig writes to a warehouse; of other exports it does not say so: UTC with a warning, unless the option says otherwise.',
    sources: ['https://docs.statsig.com/statsig-warehouse-native/configuration/query-tools'],
    option: 'time_zone',
  },
  ids: {
    rule: 'No statement about ids: the uuid is the id of the event or its timeUUID, else it follows from the content.',
    because: 'Equal events of a file are kept, and the same file again changes nothing.',
  },
  links: {
    rule: 'The user is userID, the device deviceID or stableID.',
    sources: ['https://docs.statsig.com/api-reference/events/log-custom-events'],
  },
  counts: {
    rule: 'Nothing is skipped but the start of sessions, by the table of names. Events of other environments than production are not in what Statsig forwards to a warehouse.',
    sources: ['https://docs.statsig.com/en/statsig-warehouse-native/connecting-your-warehouse/forwarded-data'],
  },
};
