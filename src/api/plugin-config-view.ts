import type { Clock } from '../base/clock.ts';
import { ApiError } from '../contract/errors.ts';
import { pluginConfigIdSchema } from '../contract/plugin-configs.ts';
import { familyPaths, pluginFamilies, type Family } from '../contract/plugins.ts';
import {
  logLimitDefault,
  pluginLogLevels,
  pluginLogPageSchema,
  pluginLogQuerySchema,
  pluginLogSources,
  type PluginLogQuery,
  type PluginLogRecord,
} from '../contract/plugin-view.ts';
import { isUuid } from '../eventstore/cursor.ts';
import { apiRoute, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import type { Metadata } from '../metadata/database.ts';
import { listLogs, type LogFilter, type StoredLogLine } from '../plugin-services/logs.ts';
import { requireConfig, type IdParams } from './plugin-configs-deps.ts';
import { timeFilter } from './time-filter.ts';

export interface PluginConfigViewDeps {
  readonly db: Metadata;
  readonly clock: Clock;
}

const tags = { 'import-app': 'Import app configs', transformation: 'Transformation configs' } as const;
const words = { 'import-app': 'an import app config', transformation: 'a transformation config' } as const;

/** What configs do, in view: the same for both families. */
export function pluginConfigViewRoutes(deps: PluginConfigViewDeps): ApiRoute[] {
  const parts = [logRoute];
  return pluginFamilies.flatMap((family) => parts.map((route) => route(deps, family)));
}

function common(family: Family) {
  const base = `/api/projects/:project_id/${familyPaths[family]}/:id`;
  return { base, method: 'GET', scope: 'plugin:read', tag: tags[family], params: pluginConfigIdSchema } as const;
}

function logRoute(deps: PluginConfigViewDeps, family: Family): ApiRoute {
  const { base, ...route } = common(family);
  return apiRoute({
    ...route,
    path: `${base}/logs`,
    summary: `Log of ${words[family]}`,
    description: 'Newest first. Kept for the days that the service is set to. Follow `next` for older lines.',
    query: pluginLogQuerySchema,
    responses: { 200: pluginLogPageSchema },
    handler: async (request) => {
      const of = await configOf(deps, family, request);
      const { limit = logLimitDefault } = request.query;
      const found = await listLogs(deps.db, of, { ...logFilter(request.query), limit: limit + 1 });
      const lines = found.slice(0, limit);
      const last = found.length > limit ? lines.at(-1) : undefined;
      const next = last === undefined ? null : nextUrl(request, last.id);
      return { status: 200, body: { next, previous: null, results: lines.map(toLogRecord) } };
    },
  });
}

function logFilter({ level, source, search, before, after, cursor }: PluginLogQuery): Omit<LogFilter, 'limit'> {
  if (cursor !== undefined && !isUuid(cursor)) {
    throw new ApiError('invalid_input', 'Expected a cursor from a `next` link.', { attr: 'cursor' });
  }
  const [from, to] = [msOf(after, 'after'), msOf(before, 'before')];
  const older = cursor ?? to;
  return {
    ...(level !== undefined && { levels: listOf(level, pluginLogLevels, 'level') }),
    ...(source !== undefined && { sources: listOf(source, pluginLogSources, 'source') }),
    ...(search !== undefined && { search }),
    ...(older !== undefined && { before: older }),
    ...(from !== undefined && { after: from }),
  };
}

function msOf(text: string | undefined, attr: string): number | undefined {
  const iso = timeFilter(text, attr);
  return iso === undefined ? undefined : Date.parse(iso);
}

/** Items between commas, in any case. */
function listOf<T extends string>(text: string, known: readonly T[], attr: string): T[] {
  return text.split(',').map((part) => {
    const found = known.find((each) => each === part.trim().toUpperCase());
    if (found !== undefined) return found;
    throw new ApiError('invalid_input', `Expected some of ${known.join(', ')}, got: ${part.trim()}`, { attr });
  });
}

function toLogRecord({ id, created_at, level, source, message, instance_id }: StoredLogLine): PluginLogRecord {
  return { id, timestamp: created_at, level, source, message, instance_id };
}

function nextUrl(request: Pick<ApiRequest, 'url' | 'rawQuery'>, cursor: string): string {
  const query = new URLSearchParams(request.rawQuery);
  // A key in the query must not spread through links.
  query.delete('personal_api_key');
  query.set('cursor', cursor);
  return `${request.url}?${query}`;
}

/** @throws ApiError not_found */
async function configOf(
  { db, clock }: PluginConfigViewDeps,
  family: Family,
  request: ApiRequest<IdParams>,
): Promise<{ readonly projectId: number; readonly configId: number }> {
  const at = { projectId: request.project().id, family, id: request.params.id, now: clock.now() };
  const { projectId, id: configId } = await requireConfig(db, at);
  return { projectId, configId };
}
