import {
  importRunsQuerySchema,
  importRunsSchema,
  importRunStates,
  type ImportRunState,
  type ImportRunsRecord,
} from '../../wire/contract/import-runs.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { pageLimitDefault } from '../../wire/contract/pagination.ts';
import { isUuid } from '../../stores/events/cursor.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { countRunsByState, listRunsBefore, namesOfConfigs } from '../../imports/run/list-runs.ts';
import { toRunRecord } from '../../imports/run/run-record.ts';
import { commandLine, runsTag, type ImportRouteDeps } from './import-runs-deps.ts';
import { nextUrl } from './next-url.ts';

/** Runs across the configs of a project. */
export function projectRunRoutes({ db, clock }: Pick<ImportRouteDeps, 'db' | 'clock'>): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: '/api/projects/:project_id/import_runs',
      scope: 'plugin:read',
      tag: runsTag,
      summary: 'List the import runs of a project',
      description: 'Of all its import apps, newest first. Follow `next` for older ones.',
      query: importRunsQuerySchema,
      responses: { 200: importRunsSchema },
      handler: async (request) => {
        const { state, plugin_config: configId, source, limit = pageLimitDefault, cursor } = request.query;
        const of = { projectId: request.project().id, configId, source };
        const states = state === undefined ? undefined : readStates(state);
        const page = { limit: limit + 1, before: readCursor(cursor) };
        const found = await listRunsBefore(db, { ...of, states }, page);
        const runs = found.slice(0, limit);
        const [byState, names] = await Promise.all([countRunsByState(db, of), namesOfConfigs(db, runs)]);
        const last = found.length > limit ? runs.at(-1) : undefined;
        const body: ImportRunsRecord = {
          next: last === undefined ? null : nextUrl(request, last.id),
          previous: null,
          by_state: byState,
          results: runs.map((run) =>
            Object.assign(toRunRecord(run, clock.now()), { config_name: nameOf(run.configId, names) }),
          ),
        };
        return { status: 200, body };
      },
    }),
  ];
}

function nameOf(configId: number, names: ReadonlyMap<number, string>): string | null {
  return configId === commandLine.id ? commandLine.shown : (names.get(configId) ?? null);
}

function readStates(text: string): ImportRunState[] {
  return text.split(',').map((part) => {
    const found = importRunStates.find((state) => state === part);
    if (found !== undefined) return found;
    const detail = `Expected some of ${importRunStates.join(', ')}, with commas between.`;
    throw new ApiError('invalid_input', detail, { attr: 'state' });
  });
}

function readCursor(text: string | undefined): string | undefined {
  if (text === undefined || isUuid(text)) return text;
  throw new ApiError('invalid_input', 'Expected a cursor from a `next` link.', { attr: 'cursor' });
}
