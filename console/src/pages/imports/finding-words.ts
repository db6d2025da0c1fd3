import type { ImportRules } from '../../../../src/wire/contract/import-choice.ts';
import { unusualValueFields } from './choice-fields.ts';

/** Changed rules by code of the finding. */
export type Rules = Readonly<Record<string, string>>;

const labels: Readonly<Record<string, string>> = {
  ...unusualValueFields,
  identity: 'Devices with several users',
  untranslated_names: 'Names that look specific to the source',
  changed_duplicates: 'Duplicates with other properties or times',
  repeated_on_several_days: 'The same event on several days',
  files_not_imported: 'Files that were not imported',
  tracking_plan: 'Violations of the tracking plan',
  near_future: 'Times less than a day ahead',
  busiest_id: 'Distinct id with most of the events',
  same_records: 'Records that an earlier run loaded',
  replaced_run: 'Earlier run to undo first',
  join: 'Joined tables',
  mixpanel_zone_assumed: 'Times of Mixpanel read as UTC',
  zone_assumed: 'Times without a time zone',
  removed_links: 'Links between ids that are not imported',
};

/** Returns what a finding is about. Notes of formats have codes that are not listed here. */
export function findingLabel(code: string): string {
  const words = code.replaceAll('_', ' ');
  return labels[code] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

type RuleLabels = {
  readonly [Key in keyof Required<ImportRules>]: Readonly<Record<NonNullable<ImportRules[Key]>, string>>;
};

const shorten = 'Shorten, with a hash at the end';
const rejectRecords = 'Reject the records';
const ruleLabels: RuleLabels = {
  identity: {
    first_user: 'A device belongs to its first user',
    merge: 'All users of a device are one person',
    never_merge: 'Never merge: every id is a separate person',
    device_only: 'Devices only: no identified persons',
  },
  padded_ids: { keep: 'Keep as separate ids', trim: 'Remove the white space', reject: rejectRecords },
  long_ids: { cut: 'Truncate to 200 characters', shorten, reject: rejectRecords },
  long_names: { reject: 'Reject the events', shorten },
  long_properties: { keep: 'Keep them', shorten, reject: rejectRecords },
  odd_times: {
    keep: 'Keep times from 1900 until a day ahead, reject others',
    guess: 'Read unambiguous texts, reject others',
    received: 'Use the time of arrival at the source',
    reject: rejectRecords,
  },
};

/** Returns what a rule does; for a rule of a newer service, its name. */
export function ruleLabel(code: string, rule: string): string {
  const known: Readonly<Record<string, Readonly<Record<string, string>>>> = ruleLabels;
  return known[code]?.[rule] ?? rule;
}

/** The rules for devices with several users, as choices of a select. */
export const identityChoices = Object.entries(ruleLabels.identity).map(([value, label]) => ({
  value: value as NonNullable<ImportRules['identity']>,
  label,
}));
