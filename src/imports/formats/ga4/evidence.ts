import type { Evidence } from '../evidence.ts';

export const evidence: Evidence = {
  times: {
    rule: 'The time is event_timestamp, right also where an event arrived late.',
    sources: ['https://developers.google.com/analytics/bigquery/event-schema'],
  },
  zone: {
    rule: 'event_timestamp is in microseconds, UTC; event_date, in the zone of the property, is not used.',
    sources: ['https://support.google.com/analytics/answer/7029846'],
  },
  ids: {
    rule: 'A row has no id of its own: the uuid follows from stream, user, time, name and place in the batch, so a row is the same one in events_intraday and in the daily table, and after a daily table was amended.',
    sources: ['https://developers.google.com/analytics/bigquery/event-schema'],
  },
  links: {
    rule: 'user_id is the user, user_pseudo_id the device. Rows without either were sent without consent; the option says what happens to them.',
    sources: ['https://developers.google.com/analytics/bigquery/event-schema'],
    option: 'without_user',
  },
  counts: {
    rule: 'Daily tables change for up to three days, and what arrives later is in none: import a day again after that time. Rows without a user are skipped and counted.',
    sources: ['https://developers.google.com/analytics/bigquery/event-schema'],
    option: 'without_user',
  },
};
