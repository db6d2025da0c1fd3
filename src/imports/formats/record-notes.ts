import { counted, integer, plural } from '../../base/integer-text.ts';

/**
 * Notes that a reader adds to a record. This is their only list: the check counts them and shows a sentence for each, which the
 * report and the API repeat.
 *
 * - `incomplete`: the source itself reports missing data. Such a run is never called complete.
 * - `reading`: how records were read where another reading was possible.
 * - `assumed`: the source does not contain what was needed, and something was assumed.
 */
export const recordNotes = {
  mixpanel_terminated_early: {
    kind: 'incomplete',
    formats: ['mixpanel'],
    evidence: 'https://github.com/mixpanel/mixpanel-utils/issues/5',
    detail: ({ count, samples }) =>
      `The export is incomplete: Mixpanel ended ${counted(count, 'response')} with "terminated early" ` +
      `(${samples.join('; ')}). The events after that are missing; export ` +
      `${plural(count, 'that range', 'those ranges')} again in smaller pieces.`,
  },
  error_answer: {
    kind: 'incomplete',
    formats: 'all',
    evidence: 'https://docs.mixpanel.com/troubleshooting/errors',
    detail: ({ count, samples }) =>
      `The export is incomplete: ${integer(count)} ${plural(count, 'record is an error message', 'records are error messages')} of the source ` +
      `instead of data (${quoted(samples)}). Export the missing data again.`,
  },
  amplitude_sampled: {
    kind: 'incomplete',
    formats: ['amplitude'],
    evidence: 'https://amplitude.com/docs/apis/analytics/export',
    detail: ({ count, samples }) =>
      `The export is incomplete: ${integer(count)} ${plural(count, 'event has', 'events have')} a sample_rate ` +
      `(${samples.join(', ')}): Amplitude kept only a share of them. No export contains the others, so figures are too low.`,
  },
  matomo_actions_truncated: {
    kind: 'incomplete',
    formats: ['matomo'],
    evidence: 'https://github.com/matomo-org/matomo/blob/5.x-dev/plugins/Live/Visitor.php',
    detail: ({ count, amount, samples }) =>
      `The export is incomplete: ${integer(count)} ${plural(count, 'visit lacks', 'visits lack')} ${integer(amount)} of ` +
      `${plural(count, 'its', 'their')} actions (idVisit ${samples.join(', ')}${count > samples.length ? ', …' : ''}), which ` +
      'Matomo cut off. Raise visitor_log_maximum_actions_per_visit in the [General] section of its config.ini.php, then ' +
      'fetch it again.',
  },
  matomo_clock_derived: {
    kind: 'reading',
    formats: ['matomo'],
    evidence: 'https://github.com/matomo-org/matomo/issues/22720',
    detail: ({ count, samples }) =>
      `The actions of ${counted(count, 'visit')} have times in the local time of the site, not in UTC ` +
      `(${samples.join(', ')}); they were corrected by the first and last timestamps of each visit.`,
  },
  matomo_clock_by_option: {
    kind: 'reading',
    formats: ['matomo'],
    evidence: 'https://github.com/matomo-org/matomo/issues/22720',
    detail: ({ count, samples }) =>
      `${integer(count)} ${plural(count, 'visit does', 'visits do')} not specify the offset of the site from UTC ` +
      `(idVisit ${samples.join(', ')}); the option time_zone was used.`,
  },
  matomo_clock_unknown: {
    kind: 'assumed',
    formats: ['matomo'],
    evidence: 'https://github.com/matomo-org/matomo/issues/22720',
    detail: ({ count, samples }) =>
      `${integer(count)} ${plural(count, 'visit does', 'visits do')} not specify the offset of the site from UTC ` +
      `(idVisit ${samples.join(', ')}): their times were read as UTC. Specify the time zone of the site with the format ` +
      'option time_zone.',
  },
  matomo_clock_change_unclear: {
    kind: 'assumed',
    formats: ['matomo'],
    evidence: 'https://github.com/matomo-org/matomo/issues/22720',
    detail: ({ count, samples }) =>
      `In ${integer(count)} ${plural(count, 'visit', 'visits')} the clocks changed, and it is not clear at which action ` +
      `(idVisit ${samples.join(', ')}): actions of that hour may be an hour off.`,
  },
  zone_assumed: {
    kind: 'assumed',
    formats: ['adobe-analytics', 'heap', 'june', 'statsig'],
    evidence:
      'https://experienceleague.adobe.com/en/docs/analytics/export/analytics-data-feed/data-feed-contents/datafeeds-reference',
    detail: ({ count, samples }) =>
      `${integer(count)} ${plural(count, 'record has a time', 'records have times')} without a time zone (${quoted(samples)}), and the source ` +
      'does not specify one: they were read as UTC. Specify the zone with the format option time_zone.',
  },
  mixpanel_zone_assumed: {
    kind: 'assumed',
    formats: ['mixpanel'],
    evidence: 'https://docs.mixpanel.com/docs/export-methods',
    detail: ({ count, samples }) =>
      `${integer(count)} ${plural(count, 'event is', 'events are')} from before 2023 (the first from ${samples.join(', ')}): their times were read as UTC. ` +
      'Mixpanel projects created before 1 January 2023 may use their own time zone; if so, specify it with the format option time_zone.',
  },
  airbyte_envelope: {
    kind: 'reading',
    formats: 'all',
    evidence: 'https://docs.airbyte.com/platform/understanding-airbyte/airbyte-protocol',
    detail: ({ count }) =>
      `${integer(count)} ${plural(count, 'record was', 'records were')} unwrapped from the envelope of Airbyte ` +
      '(_airbyte_data, or stream and data).',
  },
  read_as: {
    kind: 'reading',
    formats: 'all',
    evidence: 'https://www.rfc-editor.org/rfc/rfc7464',
    detail: ({ count, samples }) =>
      `${integer(count)} ${plural(count, 'file or response was', 'files or responses were')} read as ${samples.join('; or as ')}.`,
  },
  numbers_not_finite: {
    kind: 'reading',
    formats: 'all',
    evidence: 'https://www.rfc-editor.org/rfc/rfc8259#section-6',
    detail: ({ count, amount, samples }) =>
      `${integer(amount)} ${plural(amount, 'number', 'numbers')} in ${integer(count)} ${plural(count, 'record', 'records')} ` +
      `${plural(amount, 'is', 'are')} NaN or infinite (${samples.join(', ')}), which JSON cannot hold: null was stored.`,
  },
  amplitude_operations: {
    kind: 'assumed',
    formats: ['amplitude'],
    evidence: 'https://amplitude.com/docs/apis/analytics/identify',
    detail: ({ count, samples }) =>
      `${integer(count)} ${plural(count, 'record changes', 'records change')} user properties in ways that depend on their value before ` +
      `(${samples.join(', ')}): these changes are not applied; $set, $setOnce and $unset are.`,
  },
  segment_clock_corrected: {
    kind: 'reading',
    formats: ['segment'],
    evidence: 'https://github.com/segmentio/segment-docs/blob/develop/src/connections/spec/common.md',
    detail: ({ count }) =>
      `${integer(count)} ${plural(count, 'message has', 'messages have')} no timestamp, and the clock of the sender was more than a ` +
      'minute off: the time is originalTimestamp, corrected by sentAt and receivedAt.',
  },
  snowplow_anonymous_kept: {
    kind: 'reading',
    formats: ['snowplow'],
    evidence: 'https://docs.snowplow.io/docs/sources/web-trackers/anonymous-tracking/',
    detail: ({ count }) =>
      `${integer(count)} ${plural(count, 'event has', 'events have')} no id of a user or device: kept without a person, under one ` +
      'anonymous id per session, or per event where there is no session. To skip them: format option anonymous=skip.',
  },
} as const satisfies Record<string, RecordNote>;

export type NoteCode = keyof typeof recordNotes;
export const noteCodes = Object.keys(recordNotes) as readonly NoteCode[];
export type NoteKind = 'incomplete' | 'reading' | 'assumed';

interface RecordNote {
  readonly kind: NoteKind;
  /** Slugs of the formats that can produce it. */
  readonly formats: readonly string[] | 'all';
  /** Page, test or issue of the vendor that the rule follows. */
  readonly evidence: string;
  readonly detail: (found: NoteCount) => string;
}

/** A note on one record. */
export interface FoundNote {
  readonly of: NoteCode;
  /** Number of records; default 1. */
  readonly count?: number;
  /** The missing amount, summed in addition to the number of records. */
  readonly amount?: number;
  readonly sample?: string;
}

/** One kind of note over many records. */
export interface NoteCount {
  readonly count: number;
  readonly amount: number;
  readonly samples: readonly string[];
}

/** Notes over many records, by code; stored as JSON. */
export type NoteCounts = Readonly<Partial<Record<NoteCode, NoteCount>>>;

function quoted(samples: readonly string[]): string {
  return samples.map((sample) => JSON.stringify(sample)).join(', ');
}
