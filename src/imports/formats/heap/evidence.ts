import type { Evidence } from '../evidence.ts';

export const evidence: Evidence = {
  times: {
    rule: 'The time of an event is `time`, by the clock of the device, which Heap does not correct; of a user last_modified, else joindate.',
    sources: [
      'https://help.heap.io/heap-connect/heap-connect-guide/data-schema',
      'https://help.heap.io/data-types/event-faqs/why-do-i-see-events-and-users-from-the-future',
    ],
  },
  zone: {
    rule: 'No statement about the zone of times without one: UTC, unless the option says otherwise.',
    option: 'time_zone',
    note: 'zone_assumed',
  },
  ids: {
    rule: 'event_id is the key of a table of events; a labelled event lies in several tables under one, so its name is part of the uuid.',
    sources: [
      'https://fivetran.com/docs/connectors/applications/heap/connector-schema',
      'https://help.heap.io/heap-connect/heap-connect-guide/data-schema',
    ],
  },
  links: {
    rule: "user_id is Heap's own id, identity what identify was called with; user_migrations leads from a user who was merged to the one who stayed.",
    sources: [
      'https://help.heap.io/hc/en-us/sections/36055206561425-Heap-Connect-Guide',
      'https://help.heap.io/heap-connect/heap-connect-guide/data-schema',
    ],
  },
  counts: {
    rule: 'Exports are retroactive, tables are filled again, and the tables behind the views (…_raw) may hold a row twice: the same row again is stored once. Only events that were chosen to be synced are in an export. Nothing is skipped.',
    sources: [
      'https://help.heap.io/heap-connect/heap-connect-guide/data-schema',
      'https://docs.heapanalytics.com/docs/overview-and-schema-bigquery',
    ],
  },
};
