/** Whether each part of the service can do its work, and what waits. */
import { lanes, type Lane } from '../../log/eventlog.ts';
import type { StoreHealth } from '../../stores/events/eventstore.ts';
import type { HealthChecks, HealthResult } from '../http/health.ts';
import type { BacklogAges } from './backlog-ages.ts';
import type { PluginRuntime } from './plugin-runtime.ts';
import type { Role } from './roles.ts';
import type { ServiceDeps } from './service-deps.ts';
import type { ThreadHost } from './thread-host.ts';

export interface HealthDeps {
  readonly settings: Pick<ServiceDeps['settings'], 'roles' | 'backlogEventsMax' | 'backlogBytesMax'>;
  readonly eventLog: Pick<ServiceDeps['eventLog'], 'backlog'>;
  readonly store: Pick<ServiceDeps['store'], 'health'>;
  readonly metadata: () => Promise<HealthResult>;
  readonly plugins: Pick<PluginRuntime, 'health'>;
  /** Threads of this process; undefined: another process has the role. */
  readonly pipeline: Pick<ThreadHost, 'health'> | undefined;
  readonly imports: Pick<ThreadHost, 'health'> | undefined;
  /** What the checks of stored parts have found; undefined: a server checks its own. */
  readonly storedParts: (() => StoreHealth) | undefined;
  /** Whether there is room for what is written next. */
  readonly disk: () => Promise<HealthResult>;
  readonly ages: BacklogAges;
  /** For how long the event log's server has not answered, s. */
  readonly logSilentSeconds: () => number;
  /** Aborted when the process begins to stop. */
  readonly stopping: AbortSignal;
}

/** A partition that gets another leader answers sooner; a broker that is away does not. */
const logSilentSecondsMax = 5;

/** By part, which roles cannot do their work without it; a process answers for the parts of its own roles. */
const needed = {
  metadata: ['capture', 'pipeline', 'api', 'jobs'],
  event_store: ['pipeline', 'api', 'jobs'],
  event_log: ['capture', 'pipeline', 'jobs'],
  stored_parts: ['pipeline', 'api', 'jobs'],
  disk: ['capture', 'pipeline', 'jobs'],
  plugins: ['api', 'jobs'],
  pipeline: ['pipeline'],
  imports: ['jobs'],
  process: ['capture', 'pipeline', 'api', 'jobs'],
} as const satisfies Record<string, readonly Role[]>;

export function healthChecks(deps: HealthDeps): HealthChecks {
  const { store, metadata, plugins, pipeline, imports, stopping, settings } = deps;
  const all: Record<keyof typeof needed, (() => Promise<HealthResult>) | undefined> = {
    metadata,
    event_store: () => store.health(),
    event_log: async () => backlogHealth(deps),
    // Events are taken and stored beside a damaged part.
    stored_parts: deps.storedParts && (() => optional(Promise.resolve(deps.storedParts?.() ?? { ok: true }))),
    disk: deps.disk,
    plugins: () => optional(plugins.health()),
    pipeline: pipeline && (() => pipeline.health()),
    // Beside other roles: requests are taken and answered without it.
    imports: imports && (() => (settings.roles.length > 1 ? optional(imports.health()) : imports.health())),
    process: async () =>
      stopping.aborted ? { ok: false, detail: 'The service stops; ask another one.' } : { ok: true },
  };
  const isOurs = (part: string): boolean =>
    needed[part as keyof typeof needed].some((role) => settings.roles.includes(role));
  return Object.fromEntries(
    Object.entries(all).flatMap(([part, check]) => (check !== undefined && isOurs(part) ? [[part, check]] : [])),
  );
}

/** Requests are taken and answered without it. */
async function optional(result: Promise<HealthResult>): Promise<HealthResult> {
  return { ...(await result), optional: true };
}

/** Full: capture answers 503; who only takes out of it has no fault there. A server that is away is a fault for everybody. */
function backlogHealth({ eventLog, settings, ages, logSilentSeconds }: HealthDeps): HealthResult {
  const silentSeconds = logSilentSeconds();
  const isSilent = silentSeconds > logSilentSecondsMax;
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
    isSilent ? `Kafka has not answered for ${Math.round(silentSeconds)} s: nothing is taken until it does.` : '',
    ...lanes.map((lane) => sentence(lane, figures[lane])),
    ...full.map((lane) => `The ${lane} lane is full: capture refuses its events.`),
  ];
  const detail = sentences.filter((each) => each !== '').join(' ');
  const isTaken = full.length === 0 || !settings.roles.includes('capture');
  return { ok: isTaken && !isSilent, detail, waiting: figures };
}

type Waiting = Readonly<Record<'events' | 'bytes' | 'oldest_seconds', number>>;

function sentence(lane: Lane, { events, oldest_seconds: seconds }: Waiting): string {
  return events === 0 ? '' : `${events} events of the ${lane} lane wait, the oldest for ${seconds} s.`;
}
