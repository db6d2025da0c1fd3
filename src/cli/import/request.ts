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

/** Code that is to change the events. */
export interface AskedTransform {
  /** Of a file, a folder or an archive, absolute; or the slug of a built-in transformation. */
  readonly path: string;
  readonly settings: Readonly<Record<string, string>>;
}

/** What the command line asks for, checked. */
export interface ImportRequest {
  /** Slug of the import app. */
  readonly source: string;
  /** For `files`: local paths absolute, addresses as they are. */
  readonly paths: readonly string[];
  readonly settings: Readonly<Record<string, string>>;
  readonly options: RunOptions;
  /** As the command names it; what it is has to be read first, see transform-here.ts. */
  readonly transform: AskedTransform | undefined;
  /** Undefined where nothing is sent. */
  readonly projectKey: string | undefined;
  /** Undefined: what is stored is not read back. */
  readonly apiKey: string | undefined;
  /** In which records are checked; 0: as many as fit the machine. */
  readonly threads: number;
}

export type RequestOptions = Omit<ImportOptions, 'stateDir' | 'progress' | 'preflight' | 'preflightMs'>;

/** Errors: usage, before anything is read or sent. */
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
      '--replace: only a service takes back what it has stored; give --replace to "millrace import start --config <id>", or ' +
        '--again here, which loads these events beside the earlier ones',
    );
  }
  refuseUnquoted(paths, cwd);
  for (const option of ['report', 'rejected'] as const) refuseNowhere(option, given[option], cwd);
  refusePlaceholder('--project-key', given.projectKey);
  refusePlaceholder('--api-key', given.apiKey);
  const last = given.check === true ? 'check' : 'report';
  if (last === 'report' && (given.projectKey ?? '') === '') {
    throw new CommandError(
      'usage',
      'expected --project-key or MILLRACE_PROJECT_API_KEY: the key that "millrace projects list" shows (or --check)',
    );
  }
  return {
    source,
    paths: paths.map((path) => placed(path, cwd)),
    settings: pairsOf('--setting', given.setting ?? []),
    options: {
      range: rangeOf(given),
      ...format,
      ...chosen(slug, given, cwd),
      ...(given.again === true && { again: true }),
      last,
      ...limitOf(given),
      rejectedMax: shareOf('--rejected-max', given.rejectedMax ?? '0'),
      eventsPerSecond: countOf('--speed', given.speed ?? '0', 0),
      target: { kind: 'http', url: targetUrl(given.to) },
      // The command looks by itself, before there is a run.
      preflight: false,
    },
    transform: transformOf(given, cwd),
    projectKey: given.projectKey,
    apiKey: given.apiKey,
    threads: countOf('--threads', given.threads ?? '0', 0),
  };
}

/** A file that can be written only when everything is done is looked at beforehand. */
function refuseNowhere(option: string, file: string | undefined, cwd: string): void {
  if (file === undefined) return;
  const dir = dirname(resolve(cwd, file));
  if (existsSync(dir)) return;
  throw new CommandError(
    'usage',
    `--${option}: expected a file in a directory that is there, got ${file}: make ${dir} first`,
  );
}

/** The command that a pause prints shows no key. */
function refusePlaceholder(option: string, key = ''): void {
  if (key.includes(placeholder))
    throw new CommandError('usage', `${option}: expected a key, got the placeholder ${key}: put the key in its place`);
}

/** A path with spaces that were not quoted comes as several. */
function refuseUnquoted(paths: readonly string[], cwd: string): void {
  for (const [start, first] of paths.entries()) {
    if (isAddress(first) || existsSync(resolve(cwd, first))) continue;
    for (let end = start + 2; end <= paths.length; end += 1) {
      const whole = paths.slice(start, end).join(' ');
      if (!existsSync(resolve(cwd, whole))) continue;
      throw new CommandError('usage', `expected a file at ${first}, found none: quote a path with spaces, '${whole}'`);
    }
  }
}

function transformOf({ transform, transformSetting }: RequestOptions, cwd: string): AskedTransform | undefined {
  if (transform === undefined && transformSetting !== undefined) {
    throw new CommandError('usage', 'expected --transform with --transform-setting: the code that gets the settings');
  }
  if (transform === undefined) return undefined;
  const path = resolve(cwd, transform);
  const settings = pairsOf('--transform-setting', transformSetting ?? []);
  return { path: existsSync(path) ? path : transform, settings };
}

function placed(path: string, cwd: string): string {
  return isAddress(path) ? path : resolve(cwd, path);
}

/** `source:Products` is a table of the source itself. */
function placedTable(table: string, cwd: string): string {
  return table.startsWith('source:') ? table : placed(table, cwd);
}

export function isAddress(path: string): boolean {
  return /^(https?|s3|gs|azure|kafka):\/\//.test(path);
}

/** The base address: where `/batch/` was given with it, without. */
function targetUrl(to: string): string {
  const url = checkedUrl(to, '--to');
  const { username, password } = new URL(url);
  if (username !== '' || password !== '') {
    throw new CommandError('usage', '--to: expected an address without user and password; --project-key is the way in');
  }
  return url.replace(/\/batch$/, '');
}

/** Errors: CommandError usage, for a time that is none, or an end before the beginning. */
export function rangeOf({ fromDate, toDate }: Pick<RunScopeOptions, 'fromDate' | 'toDate'>): TimeRange {
  const from = fromDate === undefined ? undefined : timeOf('--from-date', fromDate);
  const to = toDate === undefined ? undefined : timeOf('--to-date', toDate);
  if (from !== undefined && to !== undefined && from >= to) {
    throw new CommandError('usage', `--to-date: expected a time after --from-date, got ${to} after ${from}`);
  }
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}

/** Of a trial that says how many records, or not. */
export function limitOf({ limit, trial }: Pick<RunScopeOptions, 'limit' | 'trial'>): Pick<RunOptions, 'limit'> {
  if (limit !== undefined && trial === true) {
    throw new CommandError('usage', 'expected --trial or --limit, got both; --limit says how many records a trial has');
  }
  if (limit !== undefined) return { limit: countOf('--limit', limit, 1) };
  return trial === true ? { limit: trialRecords } : {};
}

function chosen(format: string, given: ChoiceOptions, cwd: string): Pick<RunOptions, 'choice'> {
  const choice = choiceOf(given);
  tryRules(format, choice);
  if (choice?.join === undefined) return choice === undefined ? {} : { choice };
  const join = choice.join.map(({ table, ...how }) => Object.assign(how, { table: placedTable(table, cwd) }));
  return { choice: { ...choice, join } };
}

function tryRules(format: string, choice: RunOptions['choice']): void {
  try {
    if (choice !== undefined) assertRulesFit(choice, findFormat(format)?.times);
  } catch (error) {
    if (error instanceof FormatOptionsError) throw new CommandError('usage', error.message, { cause: error });
    throw error;
  }
}

/** Also tries the options and names out, so that a mistake in them is found before anything is fetched. */
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
