import type { Evidence } from '../evidence.ts';

export const evidence: Evidence = {
  times: {
    rule: 'The time is `time` of the properties.',
    sources: ['https://docs.mixpanel.com/reference/raw-event-export'],
  },
  zone: {
    rule: 'Seconds since 1970. Days are UTC for projects made from 2023 on and in the zone of the project for older ones, whose seconds count local time: the option gives the zone.',
    sources: ['https://github.com/mixpanel/docs/blob/main/openapi/src/export.openapi.yaml'],
    option: 'time_zone',
  },
  ids: {
    rule: 'The uuid follows from $insert_id. Events without one never count as repetitions in Mixpanel: their uuid follows from the content, and equal ones of a file are kept.',
    sources: [
      'https://docs.mixpanel.com/reference/event-deduplication',
      'https://docs.mixpanel.com/troubleshooting/errors/duplicate-events',
    ],
  },
  links: {
    rule: '$user_id is the user, $device_id the device; identity events link them; what Mixpanel says has failed is not linked.',
    sources: ['https://docs.mixpanel.com/docs/data-pipelines/common-sql-queries'],
    option: 'identify',
  },
  counts: {
    rule: 'Raw exports are not deduplicated, so an event may be in them several times; those of one $insert_id are one event. "terminated early" is reported as incomplete.',
    sources: [
      'https://docs.mixpanel.com/reference/raw-data-export-api',
      'https://github.com/mixpanel/mixpanel-utils/issues/5',
    ],
  },
};
