import type { OutboundStream } from '../plugins/outbound/outbound.ts';
import type { JsonObject } from '../base/json.ts';
import type { Sleep } from '../base/retry.ts';

/** Half open: from ≤ time < to; ISO 8601 UTC; unbounded by default. The source defines which time it is (event, upload). */
export interface TimeRange {
  readonly from?: string;
  readonly to?: string;
}

/** Port: where records come from. One adapter per source in sources/; settings are checked before it is created. */
export interface Source {
  /**
   * Lists what to fetch, in this order. The same range gives the same keys again; `identity` indicates whether a part's content has
   * changed. Called before the export, and again at its end: nothing may have changed.
   * Throws StillWrittenError while a part is being written.
   */
  listParts(range: TimeRange, context: SourceContext): Promise<readonly SourcePart[]>;
  /**
   * Reads the records of one part. It may be called again for the same part, and records may come in another order (see `stable`).
   * Throws SourceWaitError or SourceError; SourceChangedError if the part is not the listed one.
   */
  open(part: SourcePart, context: SourceContext): AsyncIterable<RecordChunk>;
  /**
   * Computes the checksum of the part's present content, as `open` reports it through `wasRead`: an equal one excuses another identity
   * (a file that was touched). Reads the whole part. Without it, or if it returns `undefined`, another identity means other content.
   */
  checksumNow?(part: SourcePart, context: SourceContext): Promise<string | undefined>;
  /** Describes what all parts cover together, if their keys do not: `partition 0: offsets 0 to 204000, …`. */
  describe?(parts: readonly SourcePart[]): string;
  /** Opens a table that the source provides in addition to its records (a lookup table). */
  openTable?(name: string): Source;
  /** Releases what is held between two calls (a snapshot of a database). The source can be used again after that. */
  release?(): Promise<void>;
  /** Maximum number of parts fetched at the same time. */
  readonly concurrency: number;
}

export interface SourcePart {
  /** Unique in the run and stable: `2024-03-01`, `exports/a.jsonl.gz`. Shown to users; at most 500 characters. */
  readonly key: string;
  /** Size at the source, before decompression, if known. */
  readonly bytes?: number;
  /** Changes when the content does: ETag, size and modification time. */
  readonly identity?: string;
  /** The same identity gives the same bytes in the same order: an interrupted part continues where it stopped. */
  readonly stable: boolean;
  /** What `open` needs in addition to the key. */
  readonly detail?: JsonObject;
  /** All parts are read as of one moment: later changes are no reason to stop. */
  readonly isSnapshot?: boolean;
}

/** Describes a part that was read completely. */
export interface PartRead {
  /** Set if it differs from the listed one. */
  readonly identity?: string;
  readonly checksum?: string;
}

/** Some records, each one line of JSON. Blank lines are not records, but count so that line numbers match the source. */
export interface RecordChunk {
  /**
   * Whole lines that end with \n, with the bytes of the source even if they are not JSON. They are valid until the next chunk is
   * requested, which may reuse the memory: copy them to keep them longer.
   */
  readonly lines: Buffer;
  /** Number of lines. */
  readonly count: number;
  /** Pieces of the source that could not become a line (a CSV row without a closing quote); they are rejected records. */
  readonly faults?: readonly SourceFault[];
  /** How the text that begins with this chunk is read: `JSON, one record a line`. Set only where a text begins. */
  readonly readAs?: string;
  readonly notes?: readonly ReadingNote[];
  /** Bytes of the source read so far, before decompression. */
  readonly bytesRead: number;
}

/** Represents a source record without any content (a tombstone). It never occurs in a file. */
export const lineWithoutRecord: Buffer = Buffer.from('\v\n');

/** Represents a further line of the preceding record, so that lines keep their numbers. It is not a record. */
export const lineContinued: Buffer = Buffer.from('\f\n');

const newline = 0x0a;
const space = 0x20;
/** First byte of the byte order mark that some editors write. */
const markStart = 0xef;
const tombstone = lineWithoutRecord.toString().slice(0, -1);

/** Counts lines that are not records: they are blank, or continue the preceding record. */
export function linesWithoutRecord(lines: Buffer): number {
  let count = 0;
  for (let at = 0; at < lines.length;) {
    const found = lines.indexOf(newline, at);
    const end = found < 0 ? lines.length : found;
    const first = lines[at] ?? newline;
    if ((first <= space || first === markStart) && isNoRecord(lines.toString('utf8', at, end))) count += 1;
    at = end + 1;
  }
  return count;
}

/** Returns whether the text of a line is not a record. */
export function isNoRecord(text: string): boolean {
  return text.trim() === '' && text !== tombstone;
}

/** What users see about how the source was read; the check sums it up and words it (formats/record-notes.ts). */
export interface ReadingNote {
  readonly of: 'read_as' | 'numbers_not_finite';
  /** Texts, or records. */
  readonly count: number;
  readonly amount?: number;
  readonly sample?: string;
}

export interface SourceFault {
  /** Position: `row 17`. */
  readonly place: string;
  /** Line in its file, from 1; `undefined` without a file. */
  readonly line?: number;
  /** Line of the chunk, from 0, that replaces it (`lineWithoutRecord`), so that later lines keep their numbers. */
  readonly heldAt?: number;
  readonly reason: string;
  readonly original: string;
}

export interface SourceContext {
  /** Aborted at pause, cancel and shutdown: `open` and `listParts` reject with its reason. */
  readonly signal: AbortSignal;
  /** Shows users why and how long a source waits on its own, until its next chunk. */
  readonly waiting?: (reason: string, waitMs: number) => void;
  /** Set to skip files without records; otherwise everything that is not a record is an error. */
  readonly foreign?: ForeignFiles;
  /** The caller ends with `release`; until then the source may read as of one moment. */
  readonly holdsSnapshot?: boolean;
  /** Parts that the run has stored: an endless source keeps their end. */
  readonly known?: readonly Pick<SourcePart, 'key' | 'detail'>[];
  /** Called by `open` before it ends, if the whole part was read. */
  readonly wasRead?: (read: PartRead) => void;
  /** How a source waits on its own; replaced in tests. */
  readonly sleep?: Sleep;
}

/** Handles files that hold no records: readmes, manifests, checksums. */
export interface ForeignFiles {
  /** Returns whether a record may belong to the format, even if it is broken. */
  readonly isRecord: (record: unknown) => boolean;
  /** Called for each skipped file, with its name and the reason. */
  readonly leftOut: (file: string, reason: string, records?: number) => void;
}

/** Returns an address of the host that may be reached at this port. */
export type ResolveHost = (host: string, port: number) => Promise<string>;

/** Files that were uploaded for the project, on storage that all processes can read. */
export interface UploadedFiles {
  /** Finds files by name, or by pattern; sorted by name. */
  find(pattern: string): Promise<readonly UploadedFile[]>;
  /** Returns the path of a copy on this machine, which exists until the run is released. Throws SourceError if the file does not exist. */
  copy(name: string): Promise<string>;
}

export interface UploadedFile {
  readonly name: string;
  readonly bytes: number;
  /** Changes with the content. */
  readonly identity: string;
  /** ms since the epoch. */
  readonly modifiedAt: number;
}

/** What the program provides to sources. */
export interface SourceHost {
  /** Checks addresses as for plugins; responses may have any size. */
  readonly stream: OutboundStream;
  /** Directories from which files may be read; `undefined` means any (the command line reads its user's files). */
  readonly allowedDirs: readonly string[] | undefined;
  /** Directory of files that were uploaded for the project. Without it and `uploads` there are no uploads. */
  readonly uploadsDir?: string | undefined;
  /** Replaces `uploadsDir` if uploaded files are not on this machine. */
  readonly uploads?: UploadedFiles | undefined;
  /** Returns the checked address for a connection that a source opens itself (PostgreSQL, S3). Throws OutboundError for a refused host. */
  readonly resolve: ResolveHost;
  /**
   * Whether a source may use the machine's own cloud credentials; by default no. `anywhere` allows that also at an address from a
   * setting, because its author owns the credentials.
   */
  readonly machineCredentials?: boolean | 'anywhere';
  /** ms since the epoch. */
  readonly now: () => number;
  /** Directory for files that are needed while reading (zip archives); removed when the run ends. */
  readonly tempDir: string;
}

/** Waiting may help: 429, 5xx, a broken connection, a truncated response. The part is retried with growing pauses. */
export class SourceWaitError extends Error {
  override name: string = 'SourceWaitError';
  /** As the source requests (Retry-After). */
  readonly retryAfterMs: number | undefined;
  /** `false` fails the run after a few attempts: the response itself is broken (truncated, not what it claims to be). */
  readonly unlimited: boolean;

  constructor(
    message: string,
    options: { readonly retryAfterMs?: number; readonly unlimited: boolean; readonly cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs;
    this.unlimited = options.unlimited;
  }
}

/** The part is being written at this moment. Retried a few times, like a broken response. */
export class StillWrittenError extends SourceWaitError {
  override name = 'StillWrittenError';

  constructor(message: string) {
    super(message, { unlimited: false });
  }
}

/** Waiting does not help: wrong credentials, a missing bucket, a range that the source refuses. The run fails with this message. */
export class SourceError extends Error {
  override name: string = 'SourceError';
  readonly advice: FailureAdvice | undefined;

  constructor(message: string, options: { readonly advice?: FailureAdvice; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.advice = options.advice;
  }
}

/** What the user can do about a failed run, in the words of the interface; `undefined` if the message says it. */
export type FailureAdvice = 'resume' | 'startAgain' | 'resumeOrStartAgain';

/** The part is no longer the listed one: it is listed and read again. The message says what has changed. */
export class SourceChangedError extends SourceError {
  override name = 'SourceChangedError';
}
