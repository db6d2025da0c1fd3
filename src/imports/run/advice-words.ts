import type { UnusualValue } from '../../wire/contract/unusual-values.ts';

/**
 * How messages name what a user can change: flags on the command line; otherwise fields of the console's form, with their names in the
 * API. They also appear in notifications, so fields are not given as JSON.
 */
export interface AdviceWords {
  /** `--to`. */
  readonly targetUrl: string;
  readonly projectKey: string;
  readonly personalKey: string;
  readonly format: string;
  readonly formatOptions: string;
  readonly names: string;
  readonly speed: string;
  readonly range: string;
  readonly limit: string;
  readonly rejectedMax: string;
  /** Where to find the project key. */
  readonly projectKeyPlace: string;
  /** How to create a personal key with these scopes. */
  readonly newPersonalKey: (scopes: readonly string[]) => string;
  /** How to specify a share: `--rejected-max 0.01`. */
  readonly allowRejected: (share: number) => string;
  /** How to resume the run with corrected settings. */
  readonly resume: string;
  /** How to start from scratch. */
  readonly startAgain: string;
  /** How to load in addition to an earlier run of the same records. */
  readonly again: string;
  /** How to replace an earlier run by this one; `undefined` if it must be undone first, separately. */
  readonly replace: ((runs: readonly string[]) => string) | undefined;
  /** How to undo a run separately. */
  readonly undo: (run: string) => string;
  /** How to compare stored with sent events again. */
  readonly compareAgain: string;
  /** How to start with the corrections. */
  readonly startCorrected: string;
  /** How to continue despite this share of rejected records. */
  readonly skipRejected: (share: number) => string;
  /** How to change the location of staged files. */
  readonly staging: string;
  /** How to choose a rule for unusual values. */
  readonly rule: (of: UnusualValue, rule: string) => string;
  /** How to skip the preflight. */
  readonly noPreflight: string;
}

export const flagWords: AdviceWords = {
  targetUrl: '--to',
  projectKey: '--project-key',
  personalKey: '--api-key',
  format: 'the format after "millrace import"',
  formatOptions: '--format-option',
  names: '--names',
  speed: '--speed',
  range: '--from-date and --to-date',
  limit: '--limit',
  rejectedMax: '--rejected-max',
  projectKeyPlace: '"millrace projects list" shows it',
  newPersonalKey: (scopes) => `"millrace keys create --scope ${scopes.join(' ')}" creates one`,
  allowRejected: (share) => `--rejected-max ${share}`,
  resume: 'run the same command again',
  startAgain: 'run the command with --again',
  again: 'run the command with --again',
  replace: undefined,
  undo: (run) => `"millrace import undo ${run}"`,
  compareAgain: 'run the command with --again, which compares once more',
  startCorrected: 'run the command again',
  skipRejected: (share) => `run the same command with --rejected-max ${share}`,
  staging: '--state-dir',
  rule: (of, rule) => `--${of.replaceAll('_', '-')} ${rule}`,
  noPreflight: '--no-preflight',
};

export const fieldWords: AdviceWords = {
  targetUrl: '"Target" (target_url)',
  projectKey: '"Project key of the target" (target_api_key)',
  personalKey: '"Personal key of the target" (target_personal_api_key)',
  format: '"Format" (format)',
  formatOptions: '"Options of the format" (format_options)',
  names: '"Names" (names)',
  speed: '"Events per second" (events_per_second)',
  range: '"First day" and "Before" (from, to)',
  limit: 'the number of records (limit)',
  rejectedMax: '"Rejected records, at most" (rejected_max)',
  projectKeyPlace: 'GET /api/projects/ of the target shows it as api_token',
  newPersonalKey: (scopes) =>
    `the page Keys of the target, or POST /api/personal_api_keys/ there, creates one with the scopes ${scopes.join(' and ')}`,
  allowRejected: (share) => `a limit of ${percent(share)} % (rejected_max ${share})`,
  resume: 'resume the run',
  startAgain: 'start a new run',
  again: 'resume this run with again set to true',
  replace: (runs) => `resume this run with replace set to ${runs.join(', ')}`,
  undo: (run) => `POST …/runs/${run}/undo/`,
  compareAgain: 'verify the run again (POST …/verify/)',
  startCorrected: 'start a new run',
  skipRejected: (share) => `resume this run with a limit of ${percent(share)} % (rejected_max ${share})`,
  staging: 'MILLRACE_IMPORT_STAGING',
  rule: (of, rule) => `${rule} (choose.${of})`,
  noPreflight: '"preflight": false',
};

function percent(share: number): string {
  return (share * 100).toLocaleString('en-GB', { maximumFractionDigits: 4 });
}
