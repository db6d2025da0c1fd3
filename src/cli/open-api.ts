import { Option, type Command } from 'commander';
import type { SettingName, Settings } from '../server/config/settings.ts';
import { isDataDirInUse, lastAddress } from '../server/service/data-dir.ts';
import { ApiError } from '../wire/contract/errors.ts';
import { createApiClient, detailOf, queryString, type Api } from './api-client.ts';
import { addApiKeyOption } from './api-options.ts';
import { localUrl } from './commands/healthcheck.ts';
import type { CommandProcess, Terminal } from './terminal.ts';
import { CommandError } from './exit-codes.ts';
import { addOutputOptions } from './output.ts';
import { addProfileOption } from './profiles/take-profile.ts';
import { addSettingOptions, settingsFrom } from './setting-options.ts';

export interface OpenApiOptions extends Readonly<Record<string, unknown>> {
  readonly url?: string;
  readonly apiKey?: string;
  readonly port?: string;
}

/** Where links of a data directory lead. */
export const addressSettings = ['siteUrl', 'host', 'port'] as const;

/** Adds how to print, and which API to call: of the data directory, or of a running service where one is named. */
export function addOpenApiOptions(command: Command, moreSettings: readonly SettingName[] = []): Command {
  addSettingOptions(addOutputOptions(command), ['dataDir', 'databaseUrl', ...moreSettings]);
  command.addOption(new Option('--url <url>', 'of a running service, instead of the data directory'));
  return addProfileOption(addApiKeyOption(command));
}

/**
 * Calls the API of the service that is named, over HTTP; without one, the same API in this process, on the data directory and with the
 * rights of its operator. Errors: CommandError; SchemaVersionError.
 */
export async function withApi<T>(
  options: OpenApiOptions,
  { process }: Terminal,
  work: (api: Api) => Promise<T>,
): Promise<T> {
  if (options.url !== undefined) return work(createApiClient(options.url, options.apiKey));
  const { settings } = settingsFrom(options, process);
  // The metadata store takes longer to load than most commands take to run.
  const { openStoreApi } = await import('../server/service/store-api.ts');
  await using store = await openStoreApi(settings, originOf(settings, options, process));
  if (store === undefined) throw noStore(settings);
  const call = async <R>(method: string, path: string, body?: unknown): Promise<R> =>
    (await store.call(method, path, body).catch(refuse)) as R;
  return await work({
    get: (path, query) => call('GET', `${path}${queryString(query)}`),
    send: call,
  });
}

/** Where links lead: the site URL, the port that is named, the address that the other commands use, or that of the last service. */
function originOf(settings: Settings, { port }: OpenApiOptions, { env }: CommandProcess): string {
  const { MILLRACE_URL: url = '', MILLRACE_PORT: envPort } = env;
  const isKnown = settings.siteUrl !== '' || port !== undefined || envPort !== undefined;
  const siteUrl = isKnown ? settings.siteUrl : url || (lastAddress(settings.dataDir) ?? '');
  return siteUrl === '' ? localUrl(settings) : siteUrl.replace(/\/+$/, '');
}

/** Notes that a link to the service of the data directory does not work yet, because none is running. */
export function noteIfStopped(options: OpenApiOptions, { process, note }: Terminal): void {
  if (options.url !== undefined) return;
  const { dataDir, databaseUrl } = settingsFrom(options, process).settings;
  if (databaseUrl !== '' || isDataDirInUse(dataDir)) return;
  note(`no service is running on ${dataDir}: start it with "millrace serve" before you open the link`);
}

function noStore({ dataDir, databaseUrl }: Settings): CommandError {
  const where = databaseUrl === '' ? `in ${dataDir}` : 'in the database of DATABASE_URL';
  return new CommandError(
    'notFound',
    `no project ${where} yet: run "millrace serve" once, or name the right place with --data-dir or DATABASE_URL`,
  );
}

function refuse(cause: unknown): never {
  if (!(cause instanceof ApiError)) throw cause;
  const { status } = cause;
  const message = detailOf(JSON.stringify(cause.body())) ?? cause.detail;
  throw new CommandError(status === 404 ? 'notFound' : 'failed', message, { cause, status });
}

/** Rethrows what the API has refused as the command words it: an unknown record with `notFound`, anything else as wrong usage. */
export function refusedAs(notFound: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof CommandError) || error.status === undefined) throw error;
    if (error.reason === 'notFound') throw new CommandError('notFound', notFound, { cause: error });
    throw new CommandError('usage', error.message, { cause: error });
  };
}
