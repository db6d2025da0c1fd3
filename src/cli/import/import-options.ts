import { Option, type Command } from 'commander';
import { importSettings } from '../../server/config/import-settings.ts';
import { formats } from '../../imports/formats/registry.ts';
import { addApiKeyOption, addProjectKeyOption, defaultUrl } from '../api-options.ts';
import { addFormerName } from '../resolve-options.ts';
import { addProfileOption } from '../profiles/take-profile.ts';
import { addChoiceOptions, type ChoiceOptions } from './choice-options.ts';
import { collect, countOf } from '../read-arguments.ts';

/** Range, limits and speed of a run, local or on a server, as commander gives them. */
export interface RunScopeOptions extends ChoiceOptions {
  readonly fromDate?: string;
  readonly toDate?: string;
  readonly limit?: string;
  readonly trial?: boolean;
  readonly check?: boolean;
  readonly rejectedMax?: string;
  readonly speed?: string;
}

/** Options of `millrace import`, `import check` and `import plan`. */
export interface ImportOptions extends RunScopeOptions {
  readonly source: string;
  readonly setting?: readonly string[];
  readonly to: string;
  readonly projectKey?: string;
  /** Personal key, to read stored events back. */
  readonly apiKey?: string;
  readonly formatOption?: readonly string[];
  readonly names?: string;
  readonly transform?: string;
  readonly transformSetting?: readonly string[];
  readonly stateDir: string;
  readonly again?: boolean;
  readonly threads?: string;
  /** Refused, because only a service can replace its runs. */
  readonly replace?: string | boolean;
  /** False: `--no-preflight`. */
  readonly preflight: boolean;
  readonly preflightMs?: string;
  readonly json?: boolean;
  readonly progress: boolean;
  readonly report?: string;
  readonly rejected?: string;
}

/** State of local runs, below the working directory. */
const defaultStateDir = '.millrace/imports';

/** Default number of records of a trial. */
export const trialRecords = 1000;

export function addStateDir(command: Command): Command {
  return command.option('--state-dir <dir>', 'directory for the state of runs', defaultStateDir);
}

/** Adds the source, the format and the range. */
export function addSourceOptions(command: Command, isRequired: boolean): Command {
  const argument = (name: string): string => (isRequired ? `<${name}>` : `[${name}]`);
  command
    .argument(argument('format'), `format of the records: ${formats.map(({ slug }) => slug).join(', ')}`)
    .argument(
      '[paths...]',
      'files, directories, patterns (*, **, ?), http(s)://, s3://, gs://, azure:// and kafka:// addresses',
    )
    .option('--source <app>', 'import app that fetches the records; files reads the paths', 'files')
    .option('--setting <key=value>', 'setting of the import app; key=@file reads it', collect);
  addChoiceOptions(addRangeOptions(command))
    .option('--format-option <key=value>', 'option of the format; key=@file reads it', collect)
    .option('--names <file>', "JSON file that replaces the format's table of names")
    .option(
      '--transform <plugin>',
      'transformation to run on each event before the check: file, folder or archive of a plugin, or slug of a built-in one',
    )
    .option('--transform-setting <key=value>', 'setting of that plugin; key=@file reads it', collect);
  return addStateDir(command);
}

/** Adds the options that limit the source. */
export function addRangeOptions(command: Command): Command {
  return command
    .option('--from-date <time>', 'only events from this day or time on (UTC)')
    .option('--to-date <time>', 'only events before this day or time (UTC)')
    .option('--limit <records>', 'only this many records, from the first parts')
    .option('--trial', `trial run, same as --limit ${trialRecords}`);
}

/** Adds the target and its speed. */
export function addTargetOptions(command: Command): Command {
  command.addOption(
    new Option('--to <url>', 'address of the service; /batch/ is added').env('MILLRACE_URL').default(defaultUrl),
  );
  // The personal key is used to read stored events back.
  addFormerName(addProfileOption(addApiKeyOption(addProjectKeyOption(command))), 'personalApiKey');
  return command.option('--speed <events>', 'maximum events per second; default: as fast as the target accepts them');
}

/** Adds the time limit of a local preflight. */
export function addPreflightMs(command: Command): Command {
  const { env, help } = importSettings.importPreflightMs;
  return command.addOption(new Option('--preflight-ms <ms>', help).env(env));
}

export function preflightMsOf({ preflightMs }: Pick<ImportOptions, 'preflightMs'>): number {
  if (preflightMs === undefined) return importSettings.importPreflightMs.default;
  return countOf('--preflight-ms', preflightMs, importSettings.importPreflightMs.min);
}

/** Adds the options of a local run and its output. */
export function addRunOptions(command: Command): Command {
  return addPreflightMs(command)
    .option(
      '--rejected-max <share>',
      'maximum share of rejected records, such as 1% or 0.01; if exceeded, nothing is sent; default: 0',
    )
    .option('--threads <count>', 'threads that check records; default: one per core, at most 8')
    .option('--no-preflight', 'skip the preflight of target, keys, disk and source')
    .option('--again', 'start again even if the import is done, or the same records were loaded as other events')
    .option('--rejected <file>', 'write rejected records with their reasons, as NDJSON')
    .option('--no-progress', 'show nothing until the end')
    .option('--json', 'print one JSON object per line: every step, then the result');
}
