import { Option, type Command } from 'commander';
import { importSettings } from '../../server/config/import-settings.ts';
import { formats } from '../../imports/formats/registry.ts';
import { addApiKeyOption, addProjectKeyOption, defaultUrl } from '../api-options.ts';
import { addFormerName } from '../resolve-options.ts';
import { addProfileOption } from '../profiles/take-profile.ts';
import { addChoiceOptions, type ChoiceOptions } from './choice-options.ts';
import { collect, countOf } from '../read-arguments.ts';

/** How much of the source, how far and how fast: of every run, here or on a server. As commander gives it. */
export interface RunScopeOptions extends ChoiceOptions {
  readonly fromDate?: string;
  readonly toDate?: string;
  readonly limit?: string;
  readonly trial?: boolean;
  readonly check?: boolean;
  readonly rejectedMax?: string;
  readonly speed?: string;
}

/** What `millrace import`, `import check` and `import plan` are told. */
export interface ImportOptions extends RunScopeOptions {
  readonly source: string;
  readonly setting?: readonly string[];
  readonly to: string;
  readonly projectKey?: string;
  /** Personal: to read back what is stored. */
  readonly apiKey?: string;
  readonly formatOption?: readonly string[];
  readonly names?: string;
  readonly transform?: string;
  readonly transformSetting?: readonly string[];
  readonly stateDir: string;
  readonly again?: boolean;
  readonly threads?: string;
  /** Refused: an import of the command line went to another service. */
  readonly replace?: string | boolean;
  /** False: `--no-preflight`. */
  readonly preflight: boolean;
  readonly preflightMs?: string;
  readonly json?: boolean;
  readonly progress: boolean;
  readonly report?: string;
  readonly rejected?: string;
}

/** Where runs of the command line keep what they need to go on, below the working directory. */
export const defaultStateDir = '.millrace/imports';

/** Records of a trial that does not say how many. */
export const trialRecords = 1000;

export function addStateDir(command: Command): Command {
  return command.option('--state-dir <dir>', 'where runs keep what they need to go on', defaultStateDir);
}

/** The source, the format, the range: what is to be imported. */
export function addSourceOptions(command: Command, isRequired: boolean): Command {
  const argument = (name: string): string => (isRequired ? `<${name}>` : `[${name}]`);
  command
    .argument(argument('format'), `what the records are: ${formats.map(({ slug }) => slug).join(', ')}`)
    .argument(
      '[paths...]',
      'files, directories, patterns (*, **, ?), http(s)://, s3://, gs://, azure:// and kafka:// addresses',
    )
    .option('--source <app>', 'import app that fetches the records; files reads the paths', 'files')
    .option('--setting <key=value>', 'setting of the import app; key=@file takes the value from a file', collect);
  addChoiceOptions(addRangeOptions(command))
    .option('--format-option <key=value>', 'option of the format; key=@file takes the value from a file', collect)
    .option('--names <file>', "JSON to take the place of the format's table of names")
    .option(
      '--transform <plugin>',
      'code that changes or drops each event before the check: a file, folder or archive of a plugin, or slug of a built-in transformation',
    )
    .option(
      '--transform-setting <key=value>',
      'a setting of that plugin; key=@file takes the value from a file',
      collect,
    );
  return addStateDir(command);
}

/** The part of the source that is to be imported. */
export function addRangeOptions(command: Command): Command {
  return command
    .option('--from-date <time>', 'only events from this day or time on (UTC)')
    .option('--to-date <time>', 'only events before this day or time (UTC)')
    .option('--limit <records>', 'only so many records, from the first parts')
    .option('--trial', `a trial: short for --limit ${trialRecords}`);
}

/** Where the events go, and how fast. */
export function addTargetOptions(command: Command): Command {
  command.addOption(
    new Option('--to <url>', 'address of the service; /batch/ is added').env('MILLRACE_URL').default(defaultUrl),
  );
  // With the personal key what is stored is read back.
  addFormerName(addProfileOption(addApiKeyOption(addProjectKeyOption(command))), 'personalApiKey');
  return command.option('--speed <events>', 'events per second at most; otherwise as fast as the target takes them');
}

/** How long the preflight of this process may take. */
export function addPreflightMs(command: Command): Command {
  const { env, help } = importSettings.importPreflightMs;
  return command.addOption(new Option('--preflight-ms <ms>', help).env(env));
}

export function preflightMsOf({ preflightMs }: Pick<ImportOptions, 'preflightMs'>): number {
  if (preflightMs === undefined) return importSettings.importPreflightMs.default;
  return countOf('--preflight-ms', preflightMs, importSettings.importPreflightMs.min);
}

/** How a run goes, and what is shown of it. */
export function addRunOptions(command: Command): Command {
  return addPreflightMs(command)
    .option(
      '--rejected-max <share>',
      'share of the records that may be rejected, 1% or 0.01; with more nothing is sent. Otherwise none may be',
    )
    .option('--threads <count>', 'threads in which records are checked; otherwise one for each core, 8 at most')
    .option('--no-preflight', 'begin without a look at target, keys, disk and source')
    .option('--again', 'start anew although the same import is done, or the same records were loaded under other names')
    .option('--rejected <file>', 'write records that did not get in, with the reason, as NDJSON')
    .option('--no-progress', 'say nothing until the end')
    .option('--json', 'one JSON object a line: every step, then the result');
}
