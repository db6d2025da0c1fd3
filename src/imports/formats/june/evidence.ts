import type { Evidence } from '../evidence.ts';

export const evidence: Evidence = {
  times: {
    rule: 'The time is `timestamp`.',
    because: 'No other column of the export holds a time.',
  },
  zone: {
    rule: 'No statement about the zone of times without one: UTC, unless the option says otherwise.',
    option: 'time_zone',
    note: 'zone_assumed',
  },
  ids: {
    rule: 'The export documents no id: the uuid is message_id or id where a row has one, else it follows from the content.',
    because: 'Equal rows of a file are kept, each as an event of its own, and the same file again changes nothing.',
  },
  links: {
    rule: 'user_id is the user, anonymous_id the device, as in the calls that June took in.',
    sources: [
      'https://raw.githubusercontent.com/api-evangelist/june/refs/heads/main/json-schema/june-track-request-schema.json',
    ],
  },
  counts: {
    rule: 'Nothing is skipped and nothing taken for a repetition.',
    because: 'Every row becomes an event, or is rejected with a reason.',
  },
};
