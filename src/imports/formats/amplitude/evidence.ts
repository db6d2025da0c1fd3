import type { Evidence } from '../evidence.ts';

export const evidence: Evidence = {
  times: {
    rule: 'The time is event_time, else client_event_time, else server_received_time. The range of an export is server_upload_time: events of a day may lie in the export of another one.',
    sources: ['https://amplitude.com/docs/apis/analytics/export'],
  },
  zone: {
    rule: 'Times of the export are UTC.',
    sources: ['https://amplitude.com/docs/apis/analytics/export'],
  },
  ids: {
    rule: "The uuid is the export's own, so an event that is exported twice, as backfills of a warehouse do, is stored once.",
    sources: [
      'https://amplitude.com/docs/apis/analytics/export',
      'https://amplitude.com/docs/data/destination-catalog/google-bigquery',
    ],
  },
  links: {
    rule: "user_id is the user, device_id the device, amplitude_id Amplitude's own number for the person; the option says whether they are linked.",
    sources: ['https://amplitude.com/docs/en/analytics/charts/other-charts/other-charts-amplitude-sql-schema'],
    option: 'identify',
  },
  counts: {
    rule: 'Nothing is skipped. sample_rate is reported as incomplete; an export of more than 4 GB is answered with an error, not cut.',
    sources: ['https://amplitude.com/docs/apis/analytics/export'],
  },
};
