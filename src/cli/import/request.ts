import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { assertRulesFit } from '../../imports/choosing/unusual-values.ts';
import { FormatOptionsError } from '../../imports/formats/format.ts';
import { findFormat, formats } from '../../imports/formats/registry.ts';
import type { RunOptions } from '../../imports/run/run.ts';
import type { TimeRange } from '../../imports/source.ts';
import { placeholder } from '../given-words.ts';
import { nearest } from '../../base/nearest.ts';
import { checkedUrl } from '../api-client.ts';
import { CommandError } from '../exit-codes.ts';
import { createFormatReader, namesIn } from '../format-reader.ts';
import { choiceOf, type ChoiceOptions } from './choice-options.ts';
import { trialRecords, type ImportOptions, type RunScopeOptions } from './import-options.ts';
import { countOf, pairsOf, shareOf, timeOf } from '../read-arguments.ts';

/** Code that changes the events. */
export interface RequestedTransform {
  /** Absolute path of a file, folder or archive, or the slug of a built-in transformation. */
  readonly path: string;
  readonly settings: Readonly<Record<string, string>>;
}

/** The validated command line of an import. */
export interface ImportRequest {
  /** Slug of the import app. */
  readonly source: string;
  /** Paths of `files`: local ones absolute, addresses unchanged. */
  readonly paths: readonly string[];
  readonly settings: Readonly<Record<string, string>>;
  readonly options: RunOptions;
  /** As named by the command; transform-here.ts reads it. */
  readonly transform: RequestedTransform | undefined;
  /** `undefined` if nothing is sent. */
  readonly projectKey: string | undefined;
  /** Without it, stored events are not read back. */
  readonly apiKey: string | undefined;
  /** Threads that check records; 0 chooses the number. */
  readonly threads: number;
}

export type RequestOptions = Omit<ImportOptions, 'stateDir' | 'progress' | 'preflight' | 'preflightMs'>;

/** Validates the command line. Errors: usage, before anything is read or sent. */
export function requestOf(slug: string, paths: readonly string[], given: RequestOptions, cwd: string): ImportRequest {
  const { source } = given;
  const format = formatOf(slug, given);
  if (source === 'files' && paths.length === 0) {
    throw new CommandError('usage', 'expected files, directories or addresses after the format, or --source <app>');
  }
  if (source !== 'files' && paths.length > 0) {
    throw new CommandError('usage', `expected no paths with --source ${source}, got: ${paths[0] ?? ''}`);
  }
  if (given.replace !== undefined) {
    throw new CommandError(
      'usage',
      '--replace: only a service can undo its runs; use --replace with "millrace import start --config <id>", or ' +
        '--again here, which loads these events in addition to the earlier ones',
    );
  }
  refuseUnquoted(paths, cwd);
  for (const option of ['report', 'rejected'] as const) refuseMissingDir(option, given[option], cwd);
  refusePlaceholder('--project-key', given.projectKey);
  refusePlaceholder('--api-key', given.apiKey);
  const last = given.check === true ? 'check' : 'report';
  if (last === 'report' && (given.projectKey ?? '') === '') {
    throw new CommandError(
      'usage',
      'expected --project-key or MILLRACE_PROJECT_API_KEY: see "millrace projects list" (or use --check)',
    );
  }
  return {
    source,
    paths: paths.map((path) => absolute(path, cwd)),
    settings: pairsOf('--setting', given.setting ?? []),
    options: {
      range: rangeOf(given),
      ...format,
      ...choiceIn(slug, given, cwd),
      ...(given.again === true && { again: true }),
      last,
      ...limitOf(given),
      rejectedMax: shareOf('--rejected-max', given.rejectedMax ?? '0'),
      eventsPerSecond: countOf('--speed', given.speed ?? '0', 0),
      target: { kind: 'http', url: targetUrl(given.to) },
      // The command runs the preflight itself, before it creates a run.
      preflight: false,
    },
    transform: transformOf(given, cwd),
    projectKey: given.projectKey,
    apiKey: given.apiKey,
    threads: countOf('--threads', given.threads ?? '0', 0),
  };
}

/** Output files are written at the end, so their directories are checked first. */
function refuseMissingDir(option: string, file: string | undefined, cwd: string): void {
  if (file === undefined) return;
  const dir = dirname(resolve(cwd, file));
  if (existsSync(dir)) return;
  throw new CommandError(
    'usage',
    `--${option}: expected a file in an existing directory, got ${file}; create ${dir} first`,
  );
}

/** The command printed by a pause contains placeholders for keys. Without a value, as of an unset variable, the next option is the value. */
function refusePlaceholder(option: string, key = ''): void {
  if (key.startsWith('--')) {
    throw new CommandError(
      'usage',
      `${option}: expected a key, got the option ${key}; is a variable of the shell empty?`,
    );
  }
  if (key.includes(placeholder))
    throw new CommandError('usage', `${option}: expected a key, got the placeholder ${key}; replace it with the key`);
}

/** An unquoted path with spaces arrives as several arguments. */
function refuseUnquoted(paths: readonly string[], cwd: string): void {
  for (const [start, first] of paths.entries()) {
    if (isAddress(first) || existsSync(resolve(cwd, first))) continue;
    for (let end = start + 2; end <= paths.length; end += 1) {
      const whole = paths.slice(start, end).join(' ');
      if (!existsSync(resolve(cwd, whole))) continue;
      throw new CommandError('usage', `${first} does not exist; quote a path with spaces: '${whole}'`);
    }
  }
}

function transformOf({ transform, transformSetting }: RequestOptions, cwd: string): RequestedTransform | undefined {
  if (transform === undefined && transformSetting !== undefined) {
    throw new CommandError('usage', '--transform-setting: expected --transform, the code that receives the settings');
  }
  if (transform === undefined) return undefined;
  const path = resolve(cwd, transform);
  const settings = pairsOf('--transform-setting', transformSetting ?? []);
  return { path: existsSync(path) ? path : transform, settings };
}

function absolute(path: string, cwd: string): string {
  return isAddress(path) ? path : resolve(cwd, path);
}

/** Resolves a table; `source:Products` is one of the source itself. */
function absoluteTable(table: string, cwd: string): string {
  return table.startsWith('source:') ? table : absolute(table, cwd);
}

export function isAddress(path: string): boolean {
  return /^(https?|s3|gs|azure|kafka):\/\//.test(path);
}

/** Returns the base address, without `/batch/`. */
function targetUrl(to: string): string {
  const url = checkedUrl(to, '--to');
  const { username, password } = new URL(url);
  if (username !== '' || password !== '') {
    throw new CommandError('usage', '--to: expected an address without user and password; use --project-key');
  }
  return url.replace(/\/batch$/, '');
}

/** Returns the time range. Errors: usage, for an invalid time, or an end before the start. */
export function rangeOf({ fromDate, toDate }: Pick<RunScopeOptions, 'fromDate' | 'toDate'>): TimeRange {
  const from = fromDate === undefined ? undefined : timeOf('--from-date', fromDate);
  const to = toDate === undefined ? undefined : timeOf('--to-date', toDate);
  if (from !== undefined && to !== undefined && from >= to) {
    throw new CommandError('usage', `--to-date: expected a time after --from-date, got ${to} after ${from}`);
  }
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}

/** Returns the limit of a trial. Errors: usage. */
export function limitOf({ limit, trial }: Pick<RunScopeOptions, 'limit' | 'trial'>): Pick<RunOptions, 'limit'> {
  if (limit !== undefined && trial === true) {
    throw new CommandError(
      'usage',
      'expected --trial or --limit, got both; --limit sets the number of records of a trial',
    );
  }
  if (limit !== undefined) return { limit: countOf('--limit', limit, 1) };
  return trial === true ? { limit: trialRecords } : {};
}

function choiceIn(format: string, given: ChoiceOptions, cwd: string): Pick<RunOptions, 'choice'> {
  const choice = choiceOf(given);
  checkRules(format, choice);
  if (choice?.join === undefined) return choice === undefined ? {} : { choice };
  const join = choice.join.map(({ table, ...how }) => Object.assign(how, { table: absoluteTable(table, cwd) }));
  return { choice: { ...choice, join } };
}

function checkRules(format: string, choice: RunOptions['choice']): void {
  try {
    if (choice !== undefined) assertRulesFit(choice, findFormat(format)?.times);
  } catch (error) {
    if (error instanceof FormatOptionsError) throw new CommandError('usage', error.message, { cause: error });
    throw error;
  }
}

/** Also tries the options and names, so that mistakes are found before anything is fetched. */
function formatOf(slug: string, given: RequestOptions): Pick<RunOptions, 'format' | 'formatOptions' | 'names'> {
  const format = findFormat(slug);
  if (format === undefined) {
    const slugs = formats.map((each) => each.slug);
    const known = slugs.join(', ');
    const meant = nearest(slug, slugs);
    const hint = meant === undefined ? ' (mapping reads any records by rules)' : `; did you mean ${meant}?`;
    throw new CommandError('usage', `expected a format: ${known}; got: ${slug}${hint}`);
  }
  const formatOptions = pairsOf('--format-option', given.formatOption ?? []);
  const names = namesIn(given);
  createFormatReader(format, formatOptions, names);
  return { format: slug, formatOptions, ...(names === undefined ? {} : { names }) };
}
