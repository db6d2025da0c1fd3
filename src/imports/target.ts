import type { ContentKind } from './checksum.ts';

/** Port: where events are loaded: the own project through its ingest (targets/project-target.ts), or `/batch/` (targets/http-target.ts). */
export interface Target {
  /** `project 3`, `https://eu.example.com/batch/`. */
  readonly description: string;
  /** Resolves once the target has acknowledged it durably. Throws TargetWaitError or TargetError. */
  deliver(batch: LoadBatch, signal: AbortSignal): Promise<Delivered>;
  /** Returns which of these events the target has stored, if it can. Called after a crash, before sending again. */
  readonly stored?: (events: LoadBatch, signal: AbortSignal) => Promise<ReadonlySet<string>>;
  /** Resolves when everything delivered so far can be read back. */
  readonly settled: (signal: AbortSignal) => Promise<void>;
  /** If `settled` cannot know: how long (ms) verify repeats reads that differ, from the last change on. Default 0. */
  readonly lagMs?: number;
  /** Reads back what is stored; `undefined` if the target does not allow it, which verify reports. */
  readonly reader: TargetReader | undefined;
  /** Checks beforehand whether a load can work; `undefined` for this service's own project. */
  readonly probe?: TargetProbe;
  /** Attaches the table of the run; `undefined` if events are sent. */
  readonly tables?: TableTarget;
}

/** A target that shares the event store with the tables of runs. */
export interface TableTarget {
  /**
   * Returns `false` while the project has enabled plugins that change or receive its events before they are stored: events are sent
   * then.
   */
  isOpen(signal: AbortSignal): Promise<boolean>;
  /** Counts these events, at most 1,000, against the agreement before their month is attached. Throws TargetWaitError, TargetError. */
  admit(events: number, signal: AbortSignal): Promise<void>;
  /**
   * Adds the rows of a month (202403) to the events. May be repeated. Returns `false` if others were stored in the meantime that must
   * win where they are the same events; so these events are sent. Throws TargetWaitError.
   */
  attach(month: number, signal: AbortSignal): Promise<boolean>;
  /**
   * Delivers what events with stored rows contain about persons or groups, one batch after the other. May be repeated. Throws
   * TargetWaitError, TargetError.
   */
  deliverFacts(
    of: 'persons' | 'groups',
    facts: Pick<LoadBatch, 'lines' | 'events'>,
    signal: AbortSignal,
  ): Promise<void>;
}

/** Probes a target without sending an event. Rejects with the signal's reason only. */
export interface TargetProbe {
  endpoint(signal: AbortSignal): Promise<EndpointFacts>;
  projectKey(signal: AbortSignal): Promise<KeyFacts>;
  /** Checks whether stored events can be read back. */
  reader(signal: AbortSignal): Promise<ReaderFacts>;
}

export type EndpointFacts = {
  /** Skew of the target's clock against ours, ms, if it reports a time. */
  readonly skewMs?: number;
} & (
  | { readonly kind: 'takes_batches' }
  /** No response; `fault` is the reason: `ECONNREFUSED`. */
  | { readonly kind: 'unreachable'; readonly fault: string }
  /** It may accept them later. */
  | { readonly kind: 'busy'; readonly status: number }
  /** It redirects. */
  | { readonly kind: 'moved'; readonly to: string | undefined }
  /** Batches are accepted below this other address. */
  | { readonly kind: 'elsewhere'; readonly url: string }
  /** The service at this address does not accept batches. */
  | { readonly kind: 'foreign'; readonly status: number }
);

export interface KeyFacts {
  /** `unclear`: the target responds to keys only when events arrive. */
  readonly kind: 'known' | 'unknown' | 'unclear';
  /** The target's explanation. */
  readonly detail?: string;
}

export interface ReaderFacts {
  readonly kind: 'reads' | 'no_key' | UnreadableCode | 'unclear';
  /** The target's explanation. */
  readonly detail?: string;
}

export interface LoadBatch {
  /** YYYY-MM-DD (UTC) of every event in it. */
  readonly day: string;
  /** Events as JSON, one a line, no \n at the end; oldest first. */
  readonly lines: Buffer;
  readonly events: number;
}

export interface Delivered {
  readonly accepted: number;
  readonly rejected: readonly { readonly index: number; readonly code: string; readonly detail: string }[];
}

/** Reads what is stored, for verify. */
/** Returns the time (ms since the epoch) before which historical events of this name have expired; `null` if they never do. */
export type ExpiredBefore = (event: string) => number | null;

export interface TargetReader {
  /** Counts the events of one day by name, with their checksums (see checksum.ts). */
  dayCounts(day: string, signal: AbortSignal, contents: ContentKind): Promise<ReadonlyMap<string, StoredCount>>;
  /** Counts all days of an inclusive range in one call; without it each day is read separately. */
  readonly daysCounts?:
    | ((
        days: { readonly from: string; readonly to: string },
        signal: AbortSignal,
        contents: ContentKind,
      ) => Promise<ReadonlyMap<string, ReadonlyMap<string, StoredCount>>>)
    | undefined;
  /** Identities of the events with these names on this day, in any order. */
  dayEvents(
    day: string,
    events: readonly string[],
    signal: AbortSignal,
    contents: ContentKind,
  ): AsyncIterable<readonly StoredIdentity[]>;
  /** Returns the properties of some events of one name and day as text, by `uuid distinct_id`. */
  readonly dayProperties?: (
    day: string,
    event: string,
    uuids: readonly string[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, string>>;
  /** Whether the events are in the store that has the run's table, so that it can compare both. */
  readonly sharesStore?: boolean;
  /** Counts transformations that may change events before they are stored. */
  readonly activeTransformations?: (signal: AbortSignal) => Promise<number>;
  /** Returns the retention of the project; `undefined` if it removes no historical events, or cannot be read. */
  readonly expiredBefore?: (signal: AbortSignal) => Promise<ExpiredBefore | undefined>;
  /**
   * Lists all events with this name and the days of their identities, in any order. `without` excludes events that only these runs have
   * stored; it is passed only to targets that can undo runs.
   */
  eventsNamed(event: string, signal: AbortSignal, without?: readonly string[]): AsyncIterable<readonly StoredPlace[]>;
}

export interface StoredCount {
  readonly count: number;
  readonly checksum: string;
  /** Checksum of contents (see checksum.ts), of the requested kind if the target supports it. */
  readonly content?: string | undefined;
}

/** Where an event is stored. */
export interface StoredPlace {
  readonly day: string;
  readonly uuid: string;
  readonly distinctId: string;
}

export interface StoredIdentity {
  readonly event: string;
  readonly uuid: string;
  readonly distinctId: string;
  /** µs since the epoch. */
  readonly timestamp: bigint;
  /** `$import_run_id`; empty if the event was not imported. */
  readonly runId: string;
  /** What it adds to the checksum of contents, of the requested kind, if the target provides it. */
  readonly content?: string | undefined;
}

/** Waiting may help: 429, 5xx, no connection. */
export class TargetWaitError extends Error {
  override name = 'TargetWaitError';
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { readonly retryAfterMs?: number; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The target's reader cannot be used (wrong key, wrong address); the events may be stored nevertheless. */
export class TargetUnreadableError extends Error {
  override name = 'TargetUnreadableError';
  readonly code: UnreadableCode;

  constructor(code: UnreadableCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The key is wrong, lacks a scope, or cannot access the project; or the target has no such endpoint. */
type UnreadableCode = 'key_refused' | 'key_scope' | 'key_project' | 'no_reader';

/** Waiting does not help: wrong key, wrong address, a missing agreement. The run fails with this message. */
export class TargetError extends Error {
  override name = 'TargetError';
}
