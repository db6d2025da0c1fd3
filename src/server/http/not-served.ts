/** What the API of PostHog has and this one does not, with what to use instead: scripts written for it are told. */
const instead: Readonly<Record<string, string>> = {
  query:
    'Queries are not answered by this service. Read events with GET /api/projects/:project_id/events/, counts of them with ' +
    '/events/counts/, or ask the ClickHouse that stores them.',
  ...same(
    'Charts are made elsewhere, from the events that this service stores: GET /api/projects/:project_id/events/counts/ counts them.',
    ['insights', 'dashboards', 'dashboard_templates', 'trends', 'funnels', 'saved_queries', 'warehouse_saved_queries'],
  ),
  ...same('This service has no cohorts. Read persons with GET /api/projects/:project_id/persons/.', [
    'cohorts',
    'cohort',
  ]),
  ...same(
    'This service has no actions and annotations. Events are read with GET /api/projects/:project_id/events/, and changed by transformations.',
    ['actions', 'action', 'annotations', 'annotation'],
  ),
  ...same(
    'Feature flags, experiments and surveys are not the work of this service: to client libraries it answers that there are none.',
    ['feature_flags', 'feature_flag', 'experiments', 'surveys', 'early_access_feature'],
  ),
  ...same('Session recordings are not taken by this service.', ['session_recordings', 'session_recording_playlists']),
  ...same(
    'Events are handed on by plugins with onEvent, exportEvents or composeWebhook: see /api/projects/:project_id/pipeline_transformation_configs/.',
    ['batch_exports', 'hog_functions', 'hog_flows', 'hooks', 'subscriptions'],
  ),
};

function same(sentence: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, sentence]));
}

/** The same of paths that take something. */
const insteadOfTaking: readonly (readonly [path: RegExp, sentence: string])[] = [
  [
    /^\/i\/v\d+\/ai(?:\/|$)/,
    'AI events are taken as JSON, as any other: send $ai_generation and the like to /batch/ or /i/v0/ai/batch. The forms with parts of ' +
      'their own and OpenTelemetry are not taken.',
  ],
  [
    /^\/i\/v\d+\/(?:logs|traces|metrics|otel)(?:\/|$)/,
    'Logs, traces and metrics are not the work of this service: it takes events, at /batch/.',
  ],
];

const ownerPrefix = /^\/api\/(?:(?:projects|environments|organizations)\/[^/]+\/)?(?<name>[a-z_]+)(?:\/|$)/;

/** The sentence for a path that nothing answers; undefined: nobody expects anything there. */
export function insteadOf(path: string): string | undefined {
  const taking = insteadOfTaking.find(([form]) => form.test(path));
  if (taking !== undefined) return taking[1];
  const name = ownerPrefix.exec(path)?.groups?.['name'];
  return name !== undefined && Object.hasOwn(instead, name) ? instead[name] : undefined;
}
