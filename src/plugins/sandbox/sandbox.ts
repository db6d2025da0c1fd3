import type { PluginLogLevel } from '../../stores/metadata/tables/plugins.ts';
import type { SettingValues } from '../fields.ts';
import type { Attachment, PluginCache, PluginStorage } from '../host.ts';
import type { OutboundResponse } from '../outbound/outbound.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';

/**
 * The port to where plugins run that are not part of this program: published ones and people's own. Each config has an
 * isolate of its own in a child process; nothing that happens there harms this process or another config.
 */
export interface Sandbox {
  /** Loads a program without setting it up, to learn what it can do. Throws SandboxError. */
  describe(program: SandboxProgram): Promise<Described>;
  /**
   * Loads a config's program and runs its setupPlugin. `onSetup` is told when that begins: what comes before is the machine's time, what
   * follows the plugin's. Throws SandboxError.
   */
  open(spec: InstanceSpec, onSetup?: () => void): Promise<SandboxInstance>;
  /** Tears every instance down and ends the process. */
  close(): Promise<void>;
}

export interface SandboxProgram {
  /** As in the plugin's own plugin.json. */
  readonly pluginName: string;
  /** One script, run in sloppy mode: TypeScript and modules already turned into plain JavaScript with `require`. */
  readonly code: string;
}

/** What a program exports. */
export interface Described {
  /** `setupPlugin`, `processEvent`, `processEventBatch`, `onEvent`, `exportEvents`, … that are there. */
  readonly methods: readonly string[];
  /** `runEveryMinute`, `runEveryHour`, `runEveryDay`. */
  readonly scheduledTasks: readonly string[];
  readonly jobs: readonly string[];
  readonly metrics: Readonly<Record<string, 'sum' | 'min' | 'max'>>;
}

export interface InstanceSpec extends SandboxProgram {
  readonly configId: number;
  readonly projectId: number;
  /** How events name it: `GeoIP (4)`. */
  readonly label: string;
  /** Defaults filled in; what is not text goes in as it is. */
  readonly settings: SettingValues;
  readonly attachments: ReadonlyMap<string, Attachment>;
  /** Made for this config. */
  readonly services: InstanceServices;
  /** Characters that all calls of one run may hand over together; what is beyond is refused unread. Default: no limit. */
  readonly callCharsMax?: number | undefined;
  /** Reaches no other server: requests and connections fail, and say why. Default false. */
  readonly requestsRefused?: boolean | undefined;
}

/** What an instance may ask of the service. */
export interface InstanceServices {
  readonly storage: PluginStorage;
  readonly cache: PluginCache;
  /** `posthog.capture`: resolves once the event is durable. */
  capture(event: CapturedEvent): Promise<void>;
  /** `meta.jobs.NAME(payload).runAt(…)`. `runAt` in ms since the epoch. */
  enqueueJob(job: { readonly name: string; readonly payload: JsonObject; readonly runAt: number }): Promise<void>;
  /** `posthog.api` without a host of its own: a request to this service, with the rights of the config's project. */
  api(request: ApiCall): Promise<OutboundResponse>;
  /** Never throws and never waits. */
  log(line: LogLine): void;
  /** `meta.metrics`. Never throws and never waits. */
  metric(name: string, kind: 'sum' | 'min' | 'max', value: number): void;
}

export interface CapturedEvent {
  readonly event: string;
  readonly distinctId: string;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly properties: JsonObject;
  /**
   * The event whose processing captured it, and how many were captured before in that processing: the same work done again
   * captures the same event. Null: not while processing one event.
   */
  readonly cause: { readonly uuid: string; readonly index: number } | null;
  /** Times that a plugin captured an event because of another captured one: see `hopsMax`. */
  readonly hops: number;
}

/** An event that was captured because of one that was captured … may be captured again so often. */
export const hopsMax = 10;
/** Property that carries the hops. */
export const hopsProperty = '$plugin_capture_hops';

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** `/api/projects/@current/…`, with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface LogLine {
  /** ms since the epoch. */
  readonly time: number;
  readonly level: PluginLogLevel;
  readonly source: 'CONSOLE' | 'PLUGIN' | 'SYSTEM';
  readonly message: string;
  readonly instanceId: string;
}

/** A config at work. After a crash of the process, or when evicted for idleness, the next call makes it anew. */
export interface SandboxInstance {
  readonly described: Described;
  /**
   * Runs processEvent (or processEventBatch) over events in order; same length. Never rejects for what a plugin does: what went
   * wrong is in the outcomes, of the poison events alone.
   */
  processEvents(events: readonly SandboxEvent[]): Promise<readonly EventOutcome[]>;
  /** onEvent, exportEvents, runEvery…, job: arguments before `meta`. Throws SandboxError. */
  call(
    target: CallTarget,
    options?: { readonly signal?: AbortSignal; readonly timeoutMs?: number },
  ): Promise<JsonValue>;
  /** Runs teardownPlugin and frees the isolate. */
  close(): Promise<void>;
}

export type CallTarget =
  | { readonly kind: 'scheduled'; readonly name: string }
  | { readonly kind: 'job'; readonly name: string; readonly payload: JsonObject | null }
  /** With events as onEvent gets them, one after the other. */
  | {
      readonly kind: 'onEvent';
      readonly events: readonly SandboxEvent[];
      /** Not the last call of a delivery. */ readonly more?: boolean;
    }
  /** All at once. */
  | { readonly kind: 'exportEvents'; readonly events: readonly SandboxEvent[] };

/** An event on its way into the sandbox. The markers are put in there, so that the properties need not be read here. */
export interface SandboxEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
  readonly teamId: number;
  /** ISO 8601 UTC. */
  readonly timestamp: string;
  /** Arrival, ms since the epoch: `now`. */
  readonly receivedAt: number;
  /** JSON text of the properties: `$set` and `$set_once` among them, `$ip` too. */
  readonly propertiesText: string;
  /** Labels for `$plugins_succeeded` and `$plugins_failed`; they replace what the properties hold. Null: no markers (onEvent). */
  readonly markers: { readonly succeeded: readonly string[]; readonly failed: readonly string[] } | null;
}

export type EventOutcome =
  /** Only the markers are new: `label` is to be appended to the succeeded ones. */
  | { readonly kind: 'unchanged' }
  /**
   * Checked: name and distinct_id are text and not empty, the uuid is one, the time can be read, properties is an object; `$set`,
   * `$set_once` and `ip` beside the properties have been moved into them. The text holds the markers, `label` included.
   */
  | {
      readonly kind: 'changed';
      readonly uuid: string;
      readonly event: string;
      readonly distinctId: string;
      readonly timestamp: string;
      readonly propertiesText: string;
      /** It tried to move the event to another project: counts as a failure, the other edits stay. */
      readonly movedTeam: boolean;
    }
  | { readonly kind: 'dropped' }
  | { readonly kind: 'failed'; readonly error: SandboxError };

/**
 * - load: the program cannot be loaded (syntax, forbidden import)
 * - setup: setupPlugin failed
 * - thrown: the plugin threw
 * - result: it returned something that is no event
 * - time: it took longer than it may
 * - memory: it took more memory than it may
 * - crashed: the process ended under it
 * - aborted: the caller gave up
 */
export type SandboxErrorKind = 'load' | 'setup' | 'thrown' | 'result' | 'time' | 'memory' | 'crashed' | 'aborted';

export class SandboxError extends Error {
  override name = 'SandboxError';
  readonly kind: SandboxErrorKind;
  /** `processEvent`, `setupPlugin`, `load` … */
  readonly method: string;
  /** Name of the plugin's own error: `TypeError`, `RetryError`. */
  readonly errorName: string;
  /** As the plugin sees it; never of this program. Empty: none. */
  readonly pluginStack: string;
  /** A RetryError: trying again later may help. */
  readonly retry: boolean;

  constructor(
    kind: SandboxErrorKind,
    message: string,
    about: { method: string; errorName?: string; pluginStack?: string; retry?: boolean },
  ) {
    super(message);
    this.kind = kind;
    this.method = about.method;
    this.errorName = about.errorName ?? 'Error';
    this.pluginStack = about.pluginStack ?? '';
    this.retry = about.retry ?? false;
  }
}
