import type { JsonValue } from '../../../base/json.ts';
import type { InstanceSpec, SandboxErrorKind } from '../sandbox.ts';

/** Messages between the service and the plugin process. Brackets contain the frame's body. */

export interface ChildOptions {
  /** Limit of one isolate. */
  readonly memoryBytesMax: number;
  /** Compute time per event. */
  readonly cpuMs: number;
  /** Time per event, including waiting. */
  readonly waitMs: number;
  /** Time of setup, jobs, schedules and exports, including waiting. */
  readonly taskMs: number;
  /** `allow`: as in MILLRACE_OUTBOUND_ALLOW. */
  readonly outbound: {
    readonly allow: string;
    readonly timeoutMs: number;
    readonly bytesMax: number;
    /** Additional certificates to trust (PEM). */
    readonly ca?: string | undefined;
  };
  /** Path of a MaxMind City database; empty means none. */
  readonly geoipDatabase: string;
}

export type ToChild =
  /** First message. [the guest's script, or empty to build it] */
  | { readonly kind: 'init'; readonly options: ChildOptions }
  /** [Program] */
  | { readonly kind: 'describe'; readonly id: number; readonly instance: number }
  /** [OpenBody] */
  | { readonly kind: 'open'; readonly id: number; readonly instance: number }
  /** [events-text] `isFirst`: the first events of a call; failures before them do not count. */
  | {
      readonly kind: 'events';
      readonly id: number;
      readonly instance: number;
      readonly count: number;
      readonly isFirst: boolean;
    }
  /** [events-text, or the payload of a job, or nothing] */
  | {
      readonly kind: 'call';
      readonly id: number;
      readonly instance: number;
      readonly target: WireTarget;
      readonly timeoutMs: number;
    }
  | { readonly kind: 'abort'; readonly id: number; readonly instance: number }
  | { readonly kind: 'close'; readonly id: number; readonly instance: number }
  /** Answer to `op`. [bridge-json] */
  | { readonly kind: 'answer'; readonly instance: number; readonly call: number; readonly ok: boolean };

export type WireTarget =
  | { readonly kind: 'scheduled' | 'job'; readonly name: string }
  | { readonly kind: 'onEvent' | 'exportEvents'; readonly more?: boolean };

export type FromChild =
  /** [the guest's script] */
  | { readonly kind: 'ready' }
  /** The isolate of an `open` exists and its code is loaded: setupPlugin begins now. */
  | { readonly kind: 'setup'; readonly id: number }
  /** [results-text] Some of a request's events; with `poisonInRow` the last of them. */
  | { readonly kind: 'results'; readonly id: number; readonly poisonInRow?: number }
  /** End of any other request. [JSON value, or WireError] */
  | { readonly kind: 'done'; readonly id: number; readonly ok: boolean }
  /** The isolate was removed; its pending requests receive no answer. */
  | { readonly kind: 'gone'; readonly instance: number; readonly cause: 'memory' | 'time' | 'aborted' }
  /** [bridge-json of the arguments] */
  | {
      readonly kind: 'op';
      readonly instance: number;
      readonly call: number;
      readonly op: string;
      readonly cause: WireCause | null;
    }
  /** For the service's log. */
  | { readonly kind: 'warning'; readonly message: string }
  /** [WireTelemetry] */
  | { readonly kind: 'telemetry'; readonly instance: number };

/** The event during whose processing a call was made: its index in the request, and how many captures came before. */
export interface WireCause {
  readonly id: number;
  readonly index: number;
  readonly nth: number;
}

export interface Program extends Pick<InstanceSpec, 'callCharsMax' | 'requestsRefused'> {
  readonly pluginName: string;
  readonly label: string;
  readonly configId: number;
  readonly projectId: number;
  readonly code: string;
}

export interface OpenBody extends Program {
  readonly config: Readonly<Record<string, JsonValue>>;
  readonly attachments: Readonly<
    Record<string, { readonly content_type: string; readonly file_name: string; readonly contents_base64: string }>
  >;
}

export interface WireTelemetry {
  readonly logs: readonly (readonly [time: number, source: 'CONSOLE' | 'PLUGIN', level: string, message: string])[];
  readonly metrics: readonly (readonly [name: string, kind: string, value: number])[];
}

/** A serialised SandboxError. */
export interface WireError {
  readonly kind: SandboxErrorKind;
  readonly message: string;
  readonly method: string;
  readonly errorName: string;
  readonly stack: string;
  readonly retry: boolean;
}
