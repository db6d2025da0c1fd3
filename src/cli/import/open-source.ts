import { parseAllowList } from '../../plugins/outbound/allow-list.ts';
import { resolveAllowed } from '../../plugins/outbound/resolve-allowed.ts';
import { streamLoadedLate } from '../../plugins/outbound/load-late.ts';
import { ChoiceError, withRange } from '../../imports/choosing/parse-choice.ts';
import { SourceError, type Source, type SourceHost, type SourcePart } from '../../imports/source.ts';
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
import { isAddress, type ImportRequest } from './request.ts';

interface OpenedSource {
  readonly source: Source;
  close(): Promise<void>;
}

const connectTimeoutMs = 10_000;
const idleMs = 120_000;

/**
 * Opens the source that a command names. It runs for the user at the terminal, so it may read that user's files and reach private
 * addresses, except those at which clouds issue credentials.
 * @param tempDir for temporary files while the source is read
 * @throws CommandError usage, when the settings are invalid
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

/** Tells whether the value of a setting must be hidden: a secret of the import app, or an unknown one. */
export function isSecretSetting(request: ImportRequest, key: string): boolean {
  return pluginsOf(request).some(({ plugin: { fields } }) => {
    const field = fields.find((each) => each.key === key);
    return field === undefined || field.secret === true;
  });
}

/** Opens a table for a join: local or at an address. Errors: SourceError. */
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

/** Returns one plugin per kind of path, in the order of the first paths, or the app that `--source` names. */
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
    `--setting ${unused}: files and http addresses have no settings; s3://, gs://, azure://, kafka:// and --source do`,
  );
}

function isTopic(path: string): boolean {
  return path.startsWith('kafka://');
}

/** Errors: usage. */
function topicAt(paths: readonly string[], settings: SettingValues): Chosen {
  const [, brokers, topic = ''] = /^kafka:\/\/([^/@]+)\/([^/]+)\/?$/.exec(paths[0] ?? '') ?? [];
  if (brokers !== undefined && paths.length === 1) return { plugin: kafka, settings: { ...settings, brokers, topic } };
  // The path is not repeated: it may contain a password.
  const advice = 'give the user as --setting user=… with --setting password=@file, and one topic per import';
  throw new CommandError('usage', `expected only kafka://host:9092/topic, got something else: ${advice}`);
}

/** Reads a Google bucket as the user who is logged in, by default. Errors: usage. */
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
 * Turns the range into a choice of events when the source cannot select by time.
 * @throws CommandError usage
 */
export function withTimes(request: ImportRequest): ImportRequest {
  const { choice: given, range } = request.options;
  // A topic has its own times, also when a path names it.
  const app = request.paths.some(isTopic) ? kafka : findSource(request.source);
  try {
    const choice = withRange(app, given, range);
    return choice === undefined ? request : { ...request, options: { ...request.options, choice } };
  } catch (error) {
    if (error instanceof ChoiceError) throw new CommandError('usage', error.message, { cause: error });
    throw error;
  }
}

export function findSource(slug: string): ImportSourcePlugin {
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
      `--source ${plugin.slug}: expected the format ${plugin.formats.join(' or ')}, got: ${format}`,
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

/** A part's key in its own source, and the index of that source. */
type Owned = { readonly source: number; readonly key: string };

/**
 * Combines several sources (files, addresses and buckets of one command) into one. Parts are in the order of the sources; when two have
 * a part of the same name, the later one gets a number.
 */
function combineSources(sources: readonly Source[]): Source {
  const [only] = sources;
  if (only !== undefined && sources.length === 1) return only;
  return {
    concurrency: Math.max(1, ...sources.map(({ concurrency }) => concurrency)),
    listParts: async (range, context) => {
      const seen = new Set<string>();
      const parts: SourcePart[] = [];
      for (const [source, each] of sources.entries()) {
        const known = context.known?.flatMap((part) => ownPart(part, source) ?? []);
        for (const part of await each.listParts(range, { ...context, ...(known && { known }) })) {
          const key = seen.has(part.key) ? `${part.key} (${source + 1})` : part.key;
          seen.add(key);
          const owned: Owned = { source, key: part.key };
          parts.push({ ...part, key, detail: { owned, ...(part.detail === undefined ? {} : { own: part.detail }) } });
        }
      }
      return parts;
    },
    open: (part, context) => {
      const { source, own } = ownerOf(sources, part);
      return source.open(own, context);
    },
    checksumNow: async (part, context) => {
      const { source, own } = ownerOf(sources, part);
      return source.checksumNow?.(own, context);
    },
    describe: (parts) =>
      sources
        .map((each, source) => each.describe?.(parts.flatMap((part) => ownPart(part, source) ?? [])) ?? '')
        .filter((text) => text !== '')
        .join('; '),
    release: async () => {
      for (const source of sources) await source.release?.();
    },
  };
}

/** Returns the part as its own source knows it; `undefined` if it belongs to another one. */
function ownPart<Part extends Pick<SourcePart, 'key' | 'detail'>>(part: Part, source: number): Part | undefined {
  const { owned, own } = (part.detail ?? {}) as { owned?: Owned; own?: SourcePart['detail'] };
  if (owned?.source !== source) return undefined;
  const { detail: _, ...rest } = part;
  // Sound: only key and detail differ.
  return { ...rest, key: owned.key, ...(own === undefined ? {} : { detail: own }) } as Part;
}

/** Returns the source that a part belongs to, and the part as that source knows it. */
function ownerOf(sources: readonly Source[], part: SourcePart): { readonly source: Source; readonly own: SourcePart } {
  for (const [index, source] of sources.entries()) {
    const own = ownPart(part, index);
    if (own !== undefined) return { source, own };
  }
  throw new SourceError(`expected the part ${part.key} to belong to one of the sources; start again with --again`);
}
