import type { ContentKind } from './checksum.ts';

/** Port: where events are loaded: the own project through the door (targets/project.ts), or `/batch/` (targets/http.ts). */
export interface Target {
  /** `project 3`, `https://eu.example.com/batch/`. */
  readonly description: string;
  /** Resolves once the target has acknowledged it durably. Throws TargetWaitError or TargetError. */
  deliver(batch: LoadBatch, signal: AbortSignal): Promise<Delivered>;
  /** Which of these events the target has stored already; undefined: nobody can tell. Asked after a crash, before sending again. */
  readonly stored?: (events: LoadBatch, signal: AbortSignal) => Promise<ReadonlySet<string>>;
  /** Resolves when everything delivered so far can be read back. */
  readonly settled: (signal: AbortSignal) => Promise<void>;
  /** Where `settled` cannot know: for so long (ms) verify reads again what differs, from the last change on. Default 0. */
  readonly lagMs?: number;
  /** Reads back what is stored; undefined: the target lets nobody read (then verify says so). */
  readonly reader: TargetReader | undefined;
  /** Finds out beforehand whether a load can work; undefined: the target is this service's own. */
  readonly probe?: TargetProbe;
  /** Takes the table of the run as it is; undefined: events are sent. */
  readonly tables?: TableTarget;
}

/** A target with the event store that holds the table of the run. */
export interface TableTarget {
  /**
   * False while the project has enabled plugins that change its events, or are told of them, on their way to their rows: the events are
   * sent then.
   */
  isOpen(signal: AbortSignal): Promise<boolean>;
  /** Asks the agreement for so many events, at most 1,000, before their month is attached. Throws TargetWaitError, TargetError. */
  admit(events: number, signal: AbortSignal): Promise<void>;
  /**
   * Adds the rows of a month (202403) to the events. May be repeated. False: others were stored meanwhile, which must stay where they are
   * the same events; so these are sent. Throws TargetWaitError.
   */
  attach(month: number, signal: AbortSignal): Promise<boolean>;
  /**
   * What events whose rows are stored say of persons, or of groups. One batch after the other. May be repeated. Throws TargetWaitError,
   * TargetError.
   */
  deliverFacts(
    of: 'persons' | 'groups',
    facts: Pick<LoadBatch, 'lines' | 'events'>,
    signal: AbortSignal,
  ): Promise<void>;
}

/** Asks a target what it would do, and sends it no event. Rejects with the signal's reason only. */
export interface TargetProbe {
  endpoint(signal: AbortSignal): Promise<EndpointFacts>;
  projectKey(signal: AbortSignal): Promise<KeyFacts>;
  /** Whether what is stored can be read back. */
  reader(signal: AbortSignal): Promise<ReaderFacts>;
}

export type EndpointFacts = {
  /** Of the target's clock against ours, ms; undefined: it does not tell the time. */
  readonly skewMs?: number;
} & (
  | { readonly kind: 'takes_batches' }
  /** No answer; `fault`: why, `ECONNREFUSED`. */
  | { readonly kind: 'unreachable'; readonly fault: string }
  /** It may take them later. */
  | { readonly kind: 'busy'; readonly status: number }
  /** It sends us elsewhere. */
  | { readonly kind: 'moved'; readonly to: string | undefined }
  /** Not here, but below this address. */
  | { readonly kind: 'elsewhere'; readonly url: string }
  /** Whatever answers there takes no batches. */
  | { readonly kind: 'foreign'; readonly status: number }
);

export interface KeyFacts {
  /** `unclear`: the target tells only when events come. */
  readonly kind: 'known' | 'unknown' | 'unclear';
  /** What the target says of it. */
  readonly detail?: string;
}

export interface ReaderFacts {
  readonly kind: 'reads' | 'no_key' | UnreadableCode | 'unclear';
  /** What the target says. */
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

/** What is stored, for verify. */
export interface TargetReader {
  /** Of the events of one day: how many there are by name, and the checksums (see checksum.ts) over them. */
  dayCounts(day: string, signal: AbortSignal, contents: ContentKind): Promise<ReadonlyMap<string, StoredCount>>;
  /** The same of all days from one to another, both included, at once; undefined: the target is asked day by day. */
  readonly daysCounts?:
    | ((
        days: { readonly from: string; readonly to: string },
        signal: AbortSignal,
        contents: ContentKind,
      ) => Promise<ReadonlyMap<string, ReadonlyMap<string, StoredCount>>>)
    | undefined;
  /** Identities of the events with this name on this day, in any order. */
  dayEvents(
    day: string,
    event: string,
    signal: AbortSignal,
    contents: ContentKind,
  ): AsyncIterable<readonly StoredIdentity[]>;
  /** Text of the properties of some events of one name and day, by `uuid distinct_id`; undefined: the target does not tell. */
  readonly dayProperties?: (
    day: string,
    event: string,
    uuids: readonly string[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, string>>;
  /** How many transformations may change events on their way into the store; undefined: nobody can tell. */
  readonly activeTransformations?: (signal: AbortSignal) => Promise<number>;
  /**
   * All events with this name and the days that their identities name, in any order. `without`: not those that only these runs
   * have stored; a target that takes back no runs is not asked for it.
   */
  eventsNamed(event: string, signal: AbortSignal, without?: readonly string[]): AsyncIterable<readonly StoredPlace[]>;
}

export interface StoredCount {
  readonly count: number;
  readonly checksum: string;
  /** The checksum of contents (see checksum.ts), of the kind asked for where the target knows it; undefined: it knows none. */
  readonly content?: string | undefined;
}

/** Where an event is stored. */
export interface StoredPlace {
  readonly day: string;
  readonly uuid: string;
  readonly distinctId: string;
}

export interface StoredIdentity {
  readonly uuid: string;
  readonly distinctId: string;
  /** µs since the epoch. */
  readonly timestamp: bigint;
  /** `$import_run_id`; empty: not imported. */
  readonly runId: string;
  /** What it adds to the checksum of contents, of the kind asked for; undefined: the target does not tell. */
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

/** The target's reader cannot be used (wrong key, no such address); the events may be there all the same. */
export class TargetUnreadableError extends Error {
  override name = 'TargetUnreadableError';
  readonly code: UnreadableCode;

  constructor(code: UnreadableCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The key is wrong, lacks a scope, or does not see the project; or the target has no such way at all. */
export type UnreadableCode = 'key_refused' | 'key_scope' | 'key_project' | 'no_reader';

/** Waiting does not help: wrong key, no such address, an agreement is missing. The run fails with this sentence. */
export class TargetError extends Error {
  override name = 'TargetError';
}
