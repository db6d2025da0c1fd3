import { parseAllowList } from '../../plugins/outbound/allow-list.ts';
import { resolveAllowed } from '../../plugins/outbound/resolve-allowed.ts';
import { streamLoadedLate } from '../../plugins/outbound/load-late.ts';
import { ChoiceError, withRange } from '../../imports/choosing/parse-choice.ts';
import { SourceError, type Source, type SourceHost } from '../../imports/source.ts';
import { checkSettings, missingRequired, withDefaults } from '../../plugins/check-settings.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { azure } from '../../imports/sources/azure.ts';
import { files } from '../../imports/sources/files.ts';
import { gcs } from '../../imports/sources/gcs.ts';
import { kafka } from '../../imports/sources/kafka.ts';
import { s3 } from '../../imports/sources/s3.ts';
import { urls } from '../../imports/sources/urls.ts';
import { isImportSource, SettingsError, type ImportSourcePlugin } from '../../plugins/plugin.ts';
import { builtInPlugins } from '../../plugins/built-in/registry.ts';
import { CommandError } from '../exit-codes.ts';
import { combineSources } from './combine-sources.ts';
import { isAddress, type ImportRequest } from './request.ts';

export interface OpenedSource {
  readonly source: Source;
  close(): Promise<void>;
}

const connectTimeoutMs = 10_000;
const idleMs = 120_000;

/**
 * The source that a command names. It runs for the person at the terminal, so it may read that person's files and reach private
 * addresses; only addresses at which clouds hand out credentials stay out of reach.
 * @param tempDir for what has to lie on disk while it is read
 * @throws CommandError usage, when the settings cannot work
 */
export function openSource(request: ImportRequest, tempDir: string): OpenedSource {
  const allow = parseAllowList('0.0.0.0/0,::/0');
  const stream = streamLoadedLate({ allow, connectTimeoutMs, idleMs });
  const host: SourceHost = {
    stream,
    allowedDirs: undefined,
    resolve: async (name, port) => (await resolveAllowed(name, port, allow)).address,
    machineCredentials: 'anywhere',
    now: () => Date.now(),
    tempDir,
  };
  return {
    source: combineSources(pluginsOf(request).map(({ plugin, settings }) => create(plugin, settings, request, host))),
    close: () => stream.close(),
  };
}

/** Whether the value of a setting must not be shown: one that the import app calls a secret, or does not know. */
export function isSecretSetting(request: ImportRequest, key: string): boolean {
  return pluginsOf(request).some(({ plugin: { fields } }) => {
    const field = fields.find((each) => each.key === key);
    return field === undefined || field.secret === true;
  });
}

/** A table that is joined: local, or at an address. Errors: SourceError. */
export function tableSource(request: ImportRequest, path: string, tempDir: string): Source {
  try {
    return openSource({ ...request, source: 'files', paths: [path], settings: {} }, tempDir).source;
  } catch (cause) {
    if (!(cause instanceof CommandError)) throw cause;
    throw new SourceError(cause.message, { cause });
  }
}

interface Chosen {
  readonly plugin: ImportSourcePlugin;
  readonly settings: SettingValues;
}

/** One per kind of path, in the order of their first path; or the app that `--source` names. */
function pluginsOf({ source, paths, settings }: ImportRequest): readonly Chosen[] {
  if (source !== 'files') return [{ plugin: findSource(source), settings }];
  if (paths.some(isTopic)) return [topicAt(paths, settings)];
  const chosen: Chosen[] = [];
  const local = paths.filter((path) => !isAddress(path));
  const addresses = paths.filter((path) => /^https?:/.test(path));
  if (local.length > 0) chosen.push({ plugin: files, settings: { paths: local.join('\n') } });
  if (addresses.length > 0) chosen.push({ plugin: urls, settings: { urls: addresses.join('\n') } });
  const objects = paths.filter((path) => /^(s3|gs|azure):/.test(path)).map((path) => objectsAt(path, settings));
  chosen.push(...objects);
  const [unused] = objects.length > 0 ? [] : Object.keys(settings);
  if (unused === undefined) return chosen;
  throw new CommandError(
    'usage',
    `--setting ${unused}: files and addresses have no settings; s3://, gs://, azure://, kafka:// and --source do`,
  );
}

function isTopic(path: string): boolean {
  return path.startsWith('kafka://');
}

/** Throws CommandError usage. */
function topicAt(paths: readonly string[], settings: SettingValues): Chosen {
  const [, brokers, topic = ''] = /^kafka:\/\/([^/@]+)\/([^/]+)\/?$/.exec(paths[0] ?? '') ?? [];
  if (brokers !== undefined && paths.length === 1) return { plugin: kafka, settings: { ...settings, brokers, topic } };
  // What came is not repeated: it may hold a password.
  const advice = 'a user is --setting user=… with --setting password=@file, and one topic is one import';
  throw new CommandError('usage', `expected kafka://host:9092/topic alone, got something else: ${advice}`);
}

/** On the command line a bucket of Google is read as the person who is logged in. Throws CommandError usage. */
function objectsAt(path: string, settings: SettingValues): Chosen {
  const [, account, container = '', blobs = ''] = /^azure:\/\/([^/]+)\/([^/]+)\/?(.*)$/s.exec(path) ?? [];
  if (account !== undefined) {
    return { plugin: azure, settings: { ...settings, account, container, prefix: decodeURIComponent(blobs) } };
  }
  const [, scheme, bucket = '', rest = ''] = /^(s3|gs):\/\/([^/]+)\/?(.*)$/s.exec(path) ?? [];
  const place = { bucket, prefix: decodeURIComponent(rest) };
  if (scheme === 's3') return { plugin: s3, settings: { ...settings, ...place } };
  if (scheme === undefined) {
    const expected = 's3://bucket/prefix, gs://bucket/prefix or azure://account/container/prefix';
    throw new CommandError('usage', `expected ${expected}, got: ${path}`);
  }
  const credentials = settings['key_file'] === undefined ? 'machine' : 'key file';
  return { plugin: gcs, settings: { credentials, ...settings, ...place } };
}

/**
 * The request, with its range as a choice of events where the source cannot ask for a range.
 * @throws CommandError usage
 */
export function withTimes(request: ImportRequest): ImportRequest {
  const { choice: given, range } = request.options;
  // A topic has times of its own, also when a path names it.
  const app = request.paths.some(isTopic) ? kafka : findSource(request.source);
  try {
    const choice = withRange(app, given, range);
    return choice === undefined ? request : { ...request, options: { ...request.options, choice } };
  } catch (error) {
    if (error instanceof ChoiceError) throw new CommandError('usage', error.message, { cause: error });
    throw error;
  }
}

function findSource(slug: string): ImportSourcePlugin {
  const sources = builtInPlugins.filter(isImportSource);
  const found = sources.find((plugin) => plugin.slug === slug);
  if (found !== undefined) return found;
  throw new CommandError(
    'usage',
    `--source: expected one of ${sources.map((each) => each.slug).join(', ')}; got: ${slug}`,
  );
}

function create(plugin: ImportSourcePlugin, given: SettingValues, request: ImportRequest, host: SourceHost): Source {
  const { format } = request.options;
  if (plugin.formats.length > 0 && !plugin.formats.includes(format)) {
    throw new CommandError(
      'usage',
      `${plugin.slug} gives records of ${plugin.formats.join(' or ')}; got the format ${format}`,
    );
  }
  const [problem] = checkSettings(plugin.fields, given);
  if (problem !== undefined) {
    throw new CommandError('usage', `--setting ${problem.attr?.replace('settings.', '') ?? ''}: ${problem.detail}`);
  }
  const missing = missingRequired(plugin.fields, given);
  if (missing.length > 0) {
    throw new CommandError('usage', `${plugin.slug} needs ${missing.map((key) => `--setting ${key}=…`).join(', ')}`);
  }
  try {
    return plugin.createSource(withDefaults(plugin.fields, given), host);
  } catch (error) {
    if (error instanceof SettingsError) throw new CommandError('usage', error.message, { cause: error });
    throw error;
  }
}
