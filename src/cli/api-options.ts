import { Option, type Command } from 'commander';
import { createApiClient, type Api, type ApiClient, type ApiQuery } from './api-client.ts';
import { CommandError } from './exit-codes.ts';
import { addOutputOptions, type OutputOptions } from './output.ts';
import { addProfileOption } from './profiles/take-profile.ts';

export interface ServiceOptions {
  readonly url: string;
  readonly apiKey?: string;
  readonly project: string;
}

export interface ApiOptions extends ServiceOptions, OutputOptions {}

export const defaultUrl = 'http://127.0.0.1:8000';
const pageSizeMax = 1000;

/** Adds `--url`, `--api-key`, `--project` and how to print, for commands that talk to a running service. */
export function addApiOptions(command: Command): Command {
  return addOutputOptions(addServiceOptions(command));
}

/**
 * Adds the same without how to print.
 *
 * @param project for commands in which `--project` has another default or meaning
 */
export function addServiceOptions(
  command: Command,
  project = new Option('--project <id>', 'number of the project, or @current').default('@current'),
): Command {
  command.addOption(new Option('--url <url>', 'address of the service').env('MILLRACE_URL').default(defaultUrl));
  return addProfileOption(addApiKeyOption(command)).addOption(project);
}

/** Adds `--api-key`, which is the personal key in every command. */
export function addApiKeyOption(command: Command): Command {
  const option = new Option('--api-key <key>', 'personal API key (phx_…) of the service; @file reads it');
  return command.addOption(option.env('MILLRACE_API_KEY'));
}

/** Adds `--project-key`, for commands that send events. */
export function addProjectKeyOption(command: Command): Command {
  const option = new Option('--project-key <key>', 'project key (phc_…) of the service; @file reads it');
  return command.addOption(option.env('MILLRACE_PROJECT_API_KEY'));
}

export interface ProjectApi extends ApiClient {
  /** `/api/projects/<id>`, the prefix of paths. */
  readonly root: string;
}

/** Errors: usage. */
export function projectApi({ url, apiKey, project }: ServiceOptions): ProjectApi {
  return { ...createApiClient(url, apiKey), root: `/api/projects/${checkedProject(project)}` };
}

/** Errors: usage. */
export function checkedProject(project: string): string {
  if (/^(\d{1,9}|@current)$/.test(project)) return project;
  throw new CommandError('usage', `--project: expected the number of a project or @current, got: ${project}`);
}

/** Returns all records of a list, over all pages. */
export async function listAll<T>(api: Api, path: string, query: ApiQuery = {}): Promise<T[]> {
  const all: T[] = [];
  for (;;) {
    const more = { ...query, limit: String(pageSizeMax), offset: String(all.length) };
    const page = await api.get<{ next: string | null; results: T[] } | T[]>(path, more);
    if (Array.isArray(page)) return page;
    all.push(...page.results);
    if (page.next === null || page.results.length === 0) return all;
  }
}

interface Page<T> {
  readonly next: string | null;
  readonly results: readonly T[];
}

/** Yields the first `max` records of a list, page by page. */
export async function* pagesOf<T>(
  api: ProjectApi,
  path: string,
  query: ApiQuery,
  max: number,
): AsyncGenerator<readonly T[]> {
  let wanted: ApiQuery = { ...query, limit: String(Math.min(max, pageSizeMax)) };
  for (let left = max; left > 0;) {
    const page = await api.get<Page<T>>(path, wanted);
    yield page.results.slice(0, left);
    left -= page.results.length;
    if (page.next === null || page.results.length === 0) return;
    // Only the query of the link is used: the service may be known here by another address.
    wanted = Object.fromEntries(new URL(page.next, api.url).searchParams);
  }
}

/** Returns the first `max` records of a list. */
export async function listUpTo<T>(api: ProjectApi, path: string, query: ApiQuery, max: number): Promise<T[]> {
  return (await Array.fromAsync(pagesOf<T>(api, path, query, max))).flat();
}
