/** Whether each part of the service can do its work, and what waits. */
import { lanes, type Lane } from '../eventlog/eventlog.ts';
import type { HealthChecks, HealthResult } from '../http/health.ts';
import type { BacklogAges } from './backlog-ages.ts';
import type { PluginRuntime } from './plugin-runtime.ts';
import type { ServiceDeps } from './service-deps.ts';
import type { Worker } from './worker.ts';

export interface HealthDeps {
  readonly settings: Pick<ServiceDeps['settings'], 'backlogEventsMax' | 'backlogBytesMax'>;
  readonly eventLog: Pick<ServiceDeps['eventLog'], 'backlog'>;
  readonly store: Pick<ServiceDeps['store'], 'health'>;
  readonly metadata: () => Promise<HealthResult>;
  readonly plugins: Pick<PluginRuntime, 'health'>;
  /** Undefined: another process has the role. */
  readonly worker: Pick<Worker, 'pipeline' | 'imports'> | undefined;
  readonly ages: BacklogAges;
}

export function healthChecks(deps: HealthDeps): HealthChecks {
  const { store, metadata, plugins, worker } = deps;
  return {
    metadata,
    event_store: () => store.health(),
    event_log: async () => backlogHealth(deps),
    plugins: () => optional(plugins.health()),
    ...(worker === undefined
      ? {}
      : { pipeline: () => worker.pipeline.health(), imports: () => optional(worker.imports.health()) }),
  };
}

/** Requests are taken and answered without it. */
async function optional(result: Promise<HealthResult>): Promise<HealthResult> {
  return { ...(await result), optional: true };
}

/** Full: capture answers 503. */
function backlogHealth({ eventLog, settings, ages }: HealthDeps): HealthResult {
  const figures = Object.fromEntries(
    lanes.map((lane) => {
      const { events, bytes } = eventLog.backlog(lane);
      return [lane, { events, bytes, oldest_seconds: ages.seconds(lane) }] as const;
    }),
  ) as Record<Lane, Waiting>;
  const full = lanes.filter(
    (lane) => figures[lane].events >= settings.backlogEventsMax || figures[lane].bytes >= settings.backlogBytesMax,
  );
  const sentences = [
    ...lanes.map((lane) => sentence(lane, figures[lane])),
    ...full.map((lane) => `The ${lane} lane is full: capture refuses its events.`),
  ];
  const detail = sentences.filter((each) => each !== '').join(' ');
  return { ok: full.length === 0, detail, waiting: figures };
}

type Waiting = Readonly<Record<'events' | 'bytes' | 'oldest_seconds', number>>;

function sentence(lane: Lane, { events, oldest_seconds: seconds }: Waiting): string {
  return events === 0 ? '' : `${events} events of the ${lane} lane wait, the oldest for ${seconds} s.`;
}
