import { dayMs } from '../../base/time.ts';
import { isoMicros, type Clock } from '../../base/clock.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { pluginConfigIdSchema } from '../../wire/contract/plugin-configs.ts';
import { familyPaths, pluginFamilies, type Family } from '../../wire/contract/plugins.ts';
import {
  logLimitDefault,
  pluginErrorListSchema,
  pluginLogLevels,
  pluginLogPageSchema,
  pluginLogQuerySchema,
  pluginLogSources,
  pluginMetricsListSchema,
  pluginMetricsQuerySchema,
  pluginMetricsSchema,
  type MetricInterval,
  type PluginErrorListRecord,
  type PluginLogQuery,
  type PluginLogRecord,
  type PluginMetricsListRecord,
  type PluginMetricsQuery,
  type PluginMetricsRecord,
} from '../../wire/contract/plugin-view.ts';
import { hasScope } from '../../wire/contract/scopes.ts';
import { isUuid } from '../../stores/events/cursor.ts';
import { apiRoute, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import {
  listAllConfigMetrics,
  listConfigMetrics,
  type MetricCounts,
  type MetricsOfAll,
} from '../../plugins/services/config-metrics.ts';
import { listConfigIds } from '../../plugins/configs/stored-config.ts';
import { listErrors, type StoredError } from '../../plugins/services/errors.ts';
import { listLogs, type LogFilter, type StoredLogLine } from '../../plugins/services/plugin-logs.ts';
import { listOwnMetrics, type StoredOwnMetric } from '../../plugins/services/own-metrics.ts';
import { nextUrl } from './next-url.ts';
import { requireConfig, type IdParams } from './plugin-configs-deps.ts';
import { timeFilter } from './time-filter.ts';

export interface PluginConfigViewDeps {
  readonly db: Metadata;
  readonly clock: Clock;
}

const tags = { 'import-app': 'Import app configs', transformation: 'Transformation configs' } as const;
const familyWords = { 'import-app': 'import app configs', transformation: 'transformation configs' } as const;
const words = { 'import-app': 'an import app config', transformation: 'a transformation config' } as const;

/** Routes of logs, metrics and errors of configs, the same for both families. */
export function pluginConfigViewRoutes(deps: PluginConfigViewDeps): ApiRoute[] {
  const parts = [logRoute, metricsListRoute, metricsRoute, errorsRoute];
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
    description:
      'Returns the newest lines first. They are kept for the configured number of days. Follow `next` for older lines.',
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

function metricsRoute(deps: PluginConfigViewDeps, family: Family): ApiRoute {
  const { base, ...route } = common(family);
  return apiRoute({
    ...route,
    path: `${base}/metrics`,
    summary: `Metrics of ${words[family]}`,
    description: 'Returns event counts by hour or day, and the metrics defined by the plugin.',
    query: pluginMetricsQuerySchema,
    responses: { 200: pluginMetricsSchema },
    handler: async (request) => {
      const of = await configOf(deps, family, request);
      return { status: 200, body: await metricsOf(deps, { ...of, ...rangeOf(request.query, deps.clock.now()) }) };
    },
  });
}

function metricsListRoute(deps: PluginConfigViewDeps, family: Family): ApiRoute {
  return apiRoute({
    method: 'GET',
    scope: 'plugin:read',
    tag: tags[family],
    path: `/api/projects/:project_id/${familyPaths[family]}/metrics`,
    summary: `List the metrics of all ${familyWords[family]}`,
    description: 'Returns event counts by hour or day for a list with sparklines in one call.',
    query: pluginMetricsQuerySchema,
    responses: { 200: pluginMetricsListSchema },
    handler: async (request) => {
      const now = deps.clock.now();
      const projectId = request.project().id;
      const range = rangeOf(request.query, now);
      const configIds = await listConfigIds(deps.db, projectId, family);
      const all = await inRange(() => listAllConfigMetrics(deps.db, { projectId, configIds, ...range }));
      return { status: 200, body: toMetricsList(all, range) };
    },
  });
}

function toMetricsList(
  { starts, byConfig }: MetricsOfAll,
  { from, to, interval }: { readonly from: number; readonly to: number; readonly interval: MetricInterval },
): PluginMetricsListRecord {
  return {
    date_from: starts[0] ?? isoMicros(from),
    date_to: isoMicros(to),
    interval,
    times: [...starts],
    results: [...byConfig].map(([id, { points, totals }]) => ({
      plugin_config: id,
      totals: toCounts(totals),
      succeeded: points.map(({ succeeded }) => succeeded),
      failed: points.map(({ failed }) => failed),
      dropped: points.map(({ dropped }) => dropped),
      skipped: points.map(({ skipped }) => skipped),
    })),
  };
}

function errorsRoute(deps: PluginConfigViewDeps, family: Family): ApiRoute {
  const { base, ...route } = common(family);
  return apiRoute({
    ...route,
    path: `${base}/errors`,
    summary: `Failures of ${words[family]}`,
    description: 'Returns errors by kind, most recent first: count, first occurrence, and samples with their events.',
    responses: { 200: pluginErrorListSchema },
    handler: async (request) => {
      const errors = await listErrors(deps.db, await configOf(deps, family, request));
      const { principal } = request;
      const showsEvents = principal.kind !== 'key' || hasScope(principal.scopes, 'query:read');
      return { status: 200, body: { results: errors.map((error) => toErrorRecord(error, showsEvents)) } };
    },
  });
}

const defaultMs = { hour: dayMs, day: 30 * dayMs } as const;

function rangeOf({ date_from, date_to, interval = 'hour' }: PluginMetricsQuery, now: number) {
  const to = msOf(date_to, 'date_to') ?? now;
  const from = msOf(date_from, 'date_from') ?? to - defaultMs[interval];
  if (from < to) return { from, to, interval };
  throw new ApiError('invalid_input', 'Expected a time before date_to.', { attr: 'date_from' });
}

async function metricsOf(
  { db }: PluginConfigViewDeps,
  query: Parameters<typeof listConfigMetrics>[1],
): Promise<PluginMetricsRecord> {
  const { points, totals } = await inRange(() => listConfigMetrics(db, query));
  const [first] = points;
  const dateFrom = first?.start ?? isoMicros(query.from);
  const own = await listOwnMetrics(db, { ...query, from: Date.parse(dateFrom) });
  return {
    date_from: dateFrom,
    date_to: isoMicros(query.to),
    interval: query.interval,
    totals: toCounts(totals),
    series: points.map(toPoint),
    own: toOwnMetrics(own, query.interval),
  };
}

/** Converts a range with too many points to an API error. */
async function inRange<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new ApiError('invalid_input', `${capital(cause.message)}.`, { attr: 'date_from', cause });
  }
}

function toPoint(point: MetricCounts & { readonly start: string }) {
  return { time: point.start, ...toCounts(point) };
}

function toCounts({ succeeded, failed, dropped, skipped, micros }: MetricCounts) {
  return { succeeded, failed, dropped, skipped, time_ms: micros / 1000 };
}

/** Groups values by name; a metric whose kind has changed is listed twice. */
function toOwnMetrics(stored: readonly StoredOwnMetric[], interval: MetricInterval): PluginMetricsRecord['own'] {
  const groups = Map.groupBy(stored, ({ name, kind }) => `${kind} ${name}`);
  return [...groups.values()].flatMap((rows) => {
    const [first] = rows;
    if (first === undefined) return [];
    const { name, kind } = first;
    const byTime = Map.groupBy(rows, ({ hour }) =>
      interval === 'hour' ? hour : `${hour.slice(0, 10)}T00:00:00.000000Z`,
    );
    const series = [...byTime].map(([time, values]) => ({ time, value: together(kind, values) }));
    return [{ name, kind, total: together(kind, rows), series }];
  });
}

function together(kind: StoredOwnMetric['kind'], rows: readonly StoredOwnMetric[]): number {
  return rows.map(({ value }) => value).reduce((one, other) => (kind === 'sum' ? one + other : Math[kind](one, other)));
}

function toErrorRecord(error: StoredError, showsEvents: boolean): PluginErrorListRecord['results'][number] {
  const { fingerprint: id, method, name, message, stack, count, first_seen, last_seen } = error;
  const samples = error.samples.map((sample) => (showsEvents ? { ...sample } : withoutEvent(sample)));
  return { id, method, name, message, stack, count, first_seen, last_seen, samples };
}

function withoutEvent(sample: StoredError['samples'][number]) {
  return { ...sample, event: null };
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function logFilter({ level, source, search, before, after, cursor }: PluginLogQuery): Omit<LogFilter, 'limit'> {
  if (cursor !== undefined && !isUuid(cursor)) {
    throw new ApiError('invalid_input', 'Expected a cursor from a `next` link.', { attr: 'cursor' });
  }
  const from = msOf(after, 'after');
  const to = msOf(before, 'before');
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

/** Parses comma-separated items, ignoring case. */
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
