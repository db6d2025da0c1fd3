export const warningSeverities = ['error', 'warning', 'info'] as const;
export type WarningSeverity = (typeof warningSeverities)[number];

/**
 * Ingestion warnings: everything that happens to an event besides being stored as sent. One list for API, console, metrics and
 * docs. `error`: the event was not stored (it is a dead letter, or `intentional` marks a requested drop). `warning`: it was
 * changed and stored. `info`: nothing was lost.
 */
export const ingestionWarnings = {
  // Refused at ingest and kept as dead letters.
  missing_event_name: { severity: 'error', meaning: 'The event has no name, or an empty one.' },
  missing_distinct_id: { severity: 'error', meaning: 'The event has no distinct_id, or an empty one.' },
  invalid_event: {
    severity: 'error',
    meaning: 'The batch element is not a JSON object, or is a message that cannot become an event.',
  },
  invalid_event_name: { severity: 'error', meaning: 'The event name is not a string.' },
  event_name_too_long: { severity: 'error', meaning: 'The event name is longer than 200 characters.' },
  invalid_event_uuid: { severity: 'error', meaning: 'uuid is not a valid UUID.' },
  invalid_event_timestamp: {
    severity: 'error',
    meaning: 'The timestamp of a historical event cannot be read, is before 1900 or is in the future.',
  },
  malformed_event_properties: { severity: 'error', meaning: 'properties, $set or $set_once is not an object.' },
  invalid_event_offset: { severity: 'error', meaning: 'offset is not a number of milliseconds.' },
  invalid_cookieless_mode: { severity: 'error', meaning: '$cookieless_mode is not a boolean.' },
  invalid_options: { severity: 'error', meaning: 'An option of a v1 event is invalid.' },
  event_too_large: { severity: 'error', meaning: 'The event is larger than 1 MB.' },
  event_too_deep: { severity: 'error', meaning: 'The event nests deeper than 64 levels.' },
  too_many_keys: { severity: 'error', meaning: 'The event has more than 10,000 object keys.' },
  damaged_log_record: { severity: 'error', meaning: 'A stored batch failed its checksum and was set aside.' },
  project_not_found: { severity: 'error', meaning: 'The project was deleted between acceptance and processing.' },
  processing_failed: { severity: 'error', meaning: 'A step of the pipeline failed on this event.' },
  // Dropped later.
  invalid_group_set: { severity: 'error', meaning: '$group_set is not an object; the event is kept as a dead letter.' },
  invalid_event_when_process_person_profile_is_false: {
    severity: 'error',
    meaning: '$identify, $create_alias, $merge_dangerously or $groupidentify with person processing off.',
  },
  event_dropped_by_transformation: { severity: 'info', meaning: 'A transformation dropped the event, as configured.' },
  id_kept_out: {
    severity: 'info',
    meaning: 'An id of the event was erased and is kept out; the event is not stored.',
  },
  event_dropped_by_tracking_plan: {
    severity: 'info',
    meaning: 'The event violates the tracking plan, whose policy is to drop it.',
  },
  event_refused_by_tracking_plan: {
    severity: 'error',
    meaning: 'The event violates the tracking plan, whose policy is to keep it as a dead letter.',
  },
  tracking_plan_violated: {
    severity: 'info',
    meaning: 'The event violates the tracking plan and was stored unchanged, as its policy is.',
  },
  project_limit_exceeded: {
    severity: 'warning',
    meaning:
      'Events were refused because the project is over one of its limits. Most client libraries send them again; those that do not lose ' +
      'them.',
  },
  // Stored, but changed.
  distinct_id_truncated: { severity: 'warning', meaning: 'The distinct_id was truncated to 200 characters.' },
  ignored_invalid_timestamp: {
    severity: 'warning',
    meaning: 'The timestamp cannot be read; the arrival time is used.',
  },
  clock_skew_corrected: {
    severity: 'warning',
    meaning:
      'sent_at and arrival are more than 30 s apart, and the time was corrected by the difference. The cause may be transmission ' +
      'time as well as a wrong clock: events of one device from different requests may have changed their order.',
  },
  sent_again_with_other_content: {
    severity: 'warning',
    meaning:
      'An event with the same uuid, name and distinct_id was received before, with a different time or properties. The first one is kept.',
  },
  event_timestamp_in_future: {
    severity: 'warning',
    meaning: 'The timestamp is more than 23 h ahead; the arrival time is used.',
  },
  historical_timestamp_missing: {
    severity: 'warning',
    meaning: 'A historical event has no timestamp; the arrival time is used.',
  },
  invalid_process_person_profile: {
    severity: 'warning',
    meaning: '$process_person_profile is not a boolean; true is used.',
  },
  cannot_merge_already_identified: { severity: 'warning', meaning: 'Both persons are identified and are not merged.' },
  cannot_merge_too_many_ids: {
    severity: 'warning',
    meaning: 'The merged person would have more than 2,500 ids; the persons are not merged.',
  },
  cannot_merge_with_illegal_distinct_id: {
    severity: 'warning',
    meaning: 'The id does not identify a person; nothing is merged.',
  },
  group_key_too_long: {
    severity: 'error',
    meaning: 'A group key is longer than 400 characters; the group is not stored.',
  },
  too_many_group_types: {
    severity: 'warning',
    meaning: 'The project already has 5 group types; this one is not stored.',
  },
  client_ingestion_warning: {
    severity: 'info',
    meaning: 'A client library reports that it limits its rate. The report is not stored as an event.',
  },
  performance_event_dropped: {
    severity: 'info',
    meaning: '$performance_event of an old browser library contains page measurements; it is not stored as an event.',
  },
  heatmap_dropped: {
    severity: 'info',
    meaning: '$$heatmap contains clicks for a heatmap; it is not stored as an event.',
  },
} as const satisfies Record<string, { severity: WarningSeverity; meaning: string }>;

export type WarningType = keyof typeof ingestionWarnings;

/** Describes a warning type. A newer program may have stored a type that this one does not know. */
export function aboutWarning(type: string): {
  readonly severity: WarningSeverity;
  readonly meaning: string;
} {
  if (Object.hasOwn(ingestionWarnings, type)) return ingestionWarnings[type as WarningType];
  return { severity: 'info', meaning: 'This version of the service does not know the type.' };
}

/** One occurrence before it is counted. `details` is small and contains no secrets. */
export interface WarningOccurrence {
  readonly type: WarningType;
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
}
