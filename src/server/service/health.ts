/** Health of each component of the service, and waiting events. */
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
  /** Threads of this process. `undefined` if another process has the role. */
  readonly pipeline: Pick<ThreadHost, 'health'> | undefined;
  readonly imports: Pick<ThreadHost, 'health'> | undefined;
  /** Result of checking stored parts. `undefined` if a server checks its own. */
  readonly storedParts: (() => StoreHealth) | undefined;
  /** Whether there is enough free space for writes. */
  readonly disk: () => Promise<HealthResult>;
  readonly ages: BacklogAges;
  /** Seconds since the event log's server last answered. */
  readonly logSilentSeconds: () => number;
  /** Aborted when the process begins to stop. */
  readonly stopping: AbortSignal;
}

/** A partition that changes its leader answers sooner; an unavailable broker does not. */
const logSilentSecondsMax = 5;

/** Roles that require each component; a process only reports those of its roles. */
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
    // Events are accepted and stored despite a damaged part.
    stored_parts: deps.storedParts && (() => optional(Promise.resolve(deps.storedParts?.() ?? { ok: true }))),
    disk: deps.disk,
    plugins: () => optional(plugins.health()),
    pipeline: pipeline && (() => pipeline.health()),
    // With other roles in the process, requests are served without it.
    imports: imports && (() => (settings.roles.length > 1 ? optional(imports.health()) : imports.health())),
    process: async () =>
      stopping.aborted ? { ok: false, detail: 'The service is stopping; use another one.' } : { ok: true },
  };
  const isOurs = (part: string): boolean =>
    needed[part as keyof typeof needed].some((role) => settings.roles.includes(role));
  return Object.fromEntries(
    Object.entries(all).flatMap(([part, check]) => (check !== undefined && isOurs(part) ? [[part, check]] : [])),
  );
}

/** Requests are served without it. */
async function optional(result: Promise<HealthResult>): Promise<HealthResult> {
  return { ...(await result), optional: true };
}

/** A full lane makes capture return 503, which is no fault of processes that only read it. An unavailable server affects all. */
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
    isSilent
      ? `The server of the event log has not answered for ${Math.round(silentSeconds)} s: no events are accepted until it does.`
      : '',
    ...lanes.map((lane) => sentence(lane, figures[lane])),
    ...full.map((lane) => `The ${lane} lane is full: capture refuses its events.`),
  ];
  const detail = sentences.filter((each) => each !== '').join(' ');
  const isTaken = full.length === 0 || !settings.roles.includes('capture');
  return { ok: isTaken && !isSilent, detail, waiting: figures };
}

type Waiting = Readonly<Record<'events' | 'bytes' | 'oldest_seconds', number>>;

function sentence(lane: Lane, { events, oldest_seconds: seconds }: Waiting): string {
  return events === 0 ? '' : `${events} events of the ${lane} lane are waiting, the oldest for ${seconds} s.`;
}
