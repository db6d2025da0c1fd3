import { Option, type Command } from 'commander';
import { createApiClient, type ApiClient, type ApiQuery } from './api-client.ts';
import { CommandError } from './exit-codes.ts';

export interface ApiOptions {
  readonly url: string;
  readonly apiKey?: string;
  readonly project: string;
  readonly json?: boolean;
}

export const defaultUrl = 'http://127.0.0.1:8000';

/** `--url`, `--api-key`, `--project` and `--json`, for commands that talk to a running service. */
export function addApiOptions(command: Command): Command {
  return addServiceOptions(
    command,
    new Option('--project <id>', 'number of the project, or @current').default('@current'),
  );
}

/** The same, for commands to which no project, or another meaning of it, is the default. */
export function addServiceOptions(command: Command, project: Option): Command {
  return command
    .addOption(new Option('--url <url>', 'address of the service').env('MILLRACE_URL').default(defaultUrl))
    .addOption(new Option('--api-key <key>', 'personal API key (phx_…)').env('MILLRACE_API_KEY'))
    .addOption(project)
    .option('--json', 'print JSON');
}

export interface ProjectApi extends ApiClient {
  /** `/api/projects/<id>`, to put paths behind. */
  readonly root: string;
}

/** Errors: usage. */
export function projectApi({ url, apiKey, project }: ApiOptions): ProjectApi {
  if (!/^(\d{1,9}|@current)$/.test(project)) {
    throw new CommandError('usage', `--project: expected the number of a project or @current, got: ${project}`);
  }
  return { ...createApiClient(url, apiKey), root: `/api/projects/${project}` };
}

/** Every record of a list, however many pages it has. */
export async function listAll<T>(api: ProjectApi, path: string, query: ApiQuery = {}): Promise<T[]> {
  const all: T[] = [];
  for (;;) {
    const more = { ...query, limit: '1000', offset: String(all.length) };
    const page = await api.get<{ next: string | null; results: T[] } | T[]>(path, more);
    if (Array.isArray(page)) return page;
    all.push(...page.results);
    if (page.next === null || page.results.length === 0) return all;
  }
}
