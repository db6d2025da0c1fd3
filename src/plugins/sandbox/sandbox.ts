import type { PluginLogLevel } from '../../stores/metadata/tables/plugins.ts';
import type { SettingValues } from '../fields.ts';
import type { Attachment, PluginCache, PluginStorage } from '../host.ts';
import type { OutboundResponse } from '../outbound/outbound.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';

/**
 * The port for plugins that are not part of this program: published ones and users' own. Each config has its own isolate in a
 * child process; nothing that happens there affects this process or another config.
 */
export interface Sandbox {
  /** Loads a program without setting it up, to find its capabilities. Throws SandboxError. */
  describe(program: SandboxProgram): Promise<Described>;
  /**
   * Loads a config's program and runs its setupPlugin. `onSetup` is called when that begins: the time before is the machine's, the
   * time after is the plugin's. Throws SandboxError.
   */
  open(spec: InstanceSpec, onSetup?: () => void): Promise<SandboxInstance>;
  /** Tears every instance down and ends the process. */
  close(): Promise<void>;
}

export interface SandboxProgram {
  /** The name in the plugin's plugin.json. */
  readonly pluginName: string;
  /** One script, run in sloppy mode: TypeScript and modules are already compiled to plain JavaScript with `require`. */
  readonly code: string;
}

/** The exports of a program. */
export interface Described {
  /** The existing ones of `setupPlugin`, `processEvent`, `processEventBatch`, `onEvent`, `exportEvents`, … */
  readonly methods: readonly string[];
  /** `runEveryMinute`, `runEveryHour`, `runEveryDay`. */
  readonly scheduledTasks: readonly string[];
  readonly jobs: readonly string[];
  readonly metrics: Readonly<Record<string, 'sum' | 'min' | 'max'>>;
}

export interface InstanceSpec extends SandboxProgram {
  readonly configId: number;
  readonly projectId: number;
  /** Its name in events: `GeoIP (4)`. */
  readonly label: string;
  /** With defaults; values that are not text are passed unchanged. */
  readonly settings: SettingValues;
  readonly attachments: ReadonlyMap<string, Attachment>;
  /** Created for this config. */
  readonly services: InstanceServices;
  /** Characters that all calls of one run may pass together; more is refused unread. Default: no limit. */
  readonly callCharsMax?: number | undefined;
  /** Whether requests and connections fail with an explanation. Default false. */
  readonly requestsRefused?: boolean | undefined;
}

/** The calls that an instance may make to the service. */
export interface InstanceServices {
  readonly storage: PluginStorage;
  readonly cache: PluginCache;
  /** `posthog.capture`: resolves once the event is durable. */
  capture(event: CapturedEvent): Promise<void>;
  /** `meta.jobs.NAME(payload).runAt(…)`. `runAt` in ms since the epoch. */
  enqueueJob(job: { readonly name: string; readonly payload: JsonObject; readonly runAt: number }): Promise<void>;
  /** `posthog.api` without a host: a request to this service with the rights of the config's project. */
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
   * The event during whose processing it was captured, and how many were captured before in that processing, so that repeated
   * work captures the same event. Null outside the processing of one event.
   */
  readonly cause: { readonly uuid: string; readonly index: number } | null;
  /** Length of the chain of captures that led to this event: see `hopsMax`. */
  readonly hops: number;
}

/** Maximum length of a chain of events captured because of captured ones. */
export const hopsMax = 10;
/** Property that contains the hops. */
export const hopsProperty = '$plugin_capture_hops';

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** `/api/projects/@current/…`, including the query. */
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

/** A running config. After a crash of the process or an eviction, the next call creates it again. */
export interface SandboxInstance {
  readonly described: Described;
  /**
   * Runs processEvent (or processEventBatch) over events in order; returns the same number of outcomes. Never rejects because of
   * a plugin: only the culprits' outcomes are failures.
   */
  processEvents(events: readonly SandboxEvent[]): Promise<readonly EventOutcome[]>;
  /** Calls onEvent, exportEvents, runEvery… or a job with the arguments before `meta`. Throws SandboxError. */
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
  /** Calls onEvent with the events, one after the other. */
  | {
      readonly kind: 'onEvent';
      readonly events: readonly SandboxEvent[];
      /** Whether more calls of the delivery follow. */ readonly more?: boolean;
    }
  /** All events in one call. */
  | { readonly kind: 'exportEvents'; readonly events: readonly SandboxEvent[] };

/** An event on its way into the sandbox, which adds the markers, so that the properties need not be parsed here. */
export interface SandboxEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
  readonly teamId: number;
  /** ISO 8601 UTC. */
  readonly timestamp: string;
  /** Time of arrival, ms since the epoch. */
  readonly receivedAt: number;
  /** JSON text of the properties, including `$set`, `$set_once` and `$ip`. */
  readonly propertiesText: string;
  /** Labels for `$plugins_succeeded` and `$plugins_failed`, which replace those in the properties. Null: no markers (onEvent). */
  readonly markers: { readonly succeeded: readonly string[]; readonly failed: readonly string[] } | null;
}

export type EventOutcome =
  /** Only the markers change: `label` is appended to the succeeded ones. */
  | { readonly kind: 'unchanged' }
  /**
   * Checked: name and distinct_id are non-empty text, the uuid is valid, the time can be parsed, properties is an object; `$set`,
   * `$set_once` and `ip` next to the properties were moved into them. The text contains the markers, including `label`.
   */
  | {
      readonly kind: 'changed';
      readonly uuid: string;
      readonly event: string;
      readonly distinctId: string;
      readonly timestamp: string;
      readonly propertiesText: string;
      /** It tried to move the event to another project: counts as a failure, the other changes stay. */
      readonly movedTeam: boolean;
    }
  | { readonly kind: 'dropped' }
  | { readonly kind: 'failed'; readonly error: SandboxError };

/**
 * - load: the program cannot be loaded (syntax, forbidden import)
 * - setup: setupPlugin failed
 * - thrown: the plugin threw
 * - result: it returned something other than an event
 * - time: it exceeded its time limit
 * - memory: it exceeded its memory limit
 * - crashed: its process ended
 * - aborted: the caller cancelled
 */
export type SandboxErrorKind = 'load' | 'setup' | 'thrown' | 'result' | 'time' | 'memory' | 'crashed' | 'aborted';

export class SandboxError extends Error {
  override name = 'SandboxError';
  readonly kind: SandboxErrorKind;
  /** `processEvent`, `setupPlugin`, `load` … */
  readonly method: string;
  /** Name of the plugin's own error: `TypeError`, `RetryError`. */
  readonly errorName: string;
  /** As the plugin sees it, never of this program; may be empty. */
  readonly pluginStack: string;
  /** A RetryError: a later retry may succeed. */
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
