import type { OutboundStream } from '../plugins/outbound/outbound.ts';
import type { JsonObject } from '../base/json.ts';
import type { Sleep } from '../base/retry.ts';

/** Half open: from ≤ time < to; ISO 8601 UTC. Left out: without bound. What the time is (event, upload) is the source's affair. */
export interface TimeRange {
  readonly from?: string;
  readonly to?: string;
}

/** Port: where records come from. One adapter per source in sources/; settings are checked before it is made. */
export interface Source {
  /**
   * What there is to fetch, in the order in which it should be. The same range gives the same keys again; `identity` says
   * whether a part's content is still the same. Asked before the export, and again at its end: nothing may have changed.
   * Throws StillWrittenError for what is still being written.
   */
  listParts(range: TimeRange, context: SourceContext): Promise<readonly SourcePart[]>;
  /**
   * The records of one part. It may be called again for the same part, and the answer may come in another order (see
   * `stable`). Throws SourceWaitError or SourceError; SourceChangedError where the part is not what was listed.
   */
  open(part: SourcePart, context: SourceContext): AsyncIterable<RecordChunk>;
  /**
   * The checksum of the part's content as it is now, as `open` tells `wasRead`: it excuses another identity (a file that was
   * touched). Reads the whole part; left out, or undefined: nobody can tell, and another identity is another content.
   */
  checksumNow?(part: SourcePart, context: SourceContext): Promise<string | undefined>;
  /** What all parts cover together, where their keys do not say it: `partition 0: offsets 0 to 204000, …`. */
  describe?(parts: readonly SourcePart[]): string;
  /** A table that the source keeps beside its records (a lookup table), by its name; left out: it keeps none. */
  openTable?(name: string): Source;
  /** Lets go of what is held between two calls (a snapshot of a database). It can be used again after that. */
  release?(): Promise<void>;
  /** Parts fetched at the same time, at most. */
  readonly concurrency: number;
}

export interface SourcePart {
  /** Unique in the run and stable: `2024-03-01`, `exports/a.jsonl.gz`. Shown to people; at most 500 characters. */
  readonly key: string;
  /** Of the source, before decompression; undefined: not known. */
  readonly bytes?: number;
  /** Changes when the content does: ETag, size and time of change. Undefined: nothing tells. */
  readonly identity?: string;
  /** The same identity gives the same bytes in the same order: an interrupted part goes on where it stopped. */
  readonly stable: boolean;
  /** What `open` needs besides the key. */
  readonly detail?: JsonObject;
  /**
   * All parts are read as they were at one moment: what changes after the export has come later, and is no reason to stop.
   */
  readonly isSnapshot?: boolean;
}

/** What was read of a part, when all of it was. */
export interface PartRead {
  /** Where it is another than the listed one. */
  readonly identity?: string;
  readonly checksum?: string;
}

/** Some records, each one line of JSON. Blank lines are no records; they count as lines, so that line numbers are those of the source. */
export interface RecordChunk {
  /**
   * Whole lines: ends with \n. Bytes as the source has them, also where they are no JSON. They are there until the next chunk is
   * asked for, which may lie in the same memory: who needs them longer copies them.
   */
  readonly lines: Buffer;
  /** How many lines. */
  readonly count: number;
  /** Pieces of the source that could not even become a line (a CSV row with a quote too few); they are rejected records. */
  readonly faults?: readonly SourceFault[];
  /** How the text is read that begins with this chunk: `JSON, one record a line`. Without it nothing begins. */
  readonly readAs?: string;
  readonly notes?: readonly ReadingNote[];
  /** Bytes of the source read so far, before decompression. */
  readonly bytesRead: number;
}

/** Stands for a record that the source holds without any content (a tombstone). Nobody writes it into a file. */
export const lineWithoutRecord: Buffer = Buffer.from('\v\n');

/** Stands for a further line of the record before it, which lies in several, so that lines keep their numbers. It is no record. */
export const lineContinued: Buffer = Buffer.from('\f\n');

const newline = 0x0a;
const space = 0x20;
/** Of the mark that some editors put before a file's first line. */
const markStart = 0xef;
const tombstone = lineWithoutRecord.toString().slice(0, -1);

/** How many of the lines are no record: they are blank, or continue the record before them. */
export function linesOfNoRecord(lines: Buffer): number {
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

/** `text`: of a line. */
export function isNoRecord(text: string): boolean {
  return text.trim() === '' && text !== tombstone;
}

/** What users see of how the source was read; the check adds them up and words them (formats/record-notes.ts). */
export interface ReadingNote {
  readonly of: 'read_as' | 'numbers_not_finite';
  /** Texts, or records. */
  readonly count: number;
  readonly amount?: number;
  readonly sample?: string;
}

export interface SourceFault {
  /** Where: `row 17`. */
  readonly place: string;
  /** Of the file that it is in, from 1; undefined: it is in none. */
  readonly line?: number;
  /** A line of the chunk, from 0, that is there in its stead (`lineWithoutRecord`), so that those after it keep their numbers. */
  readonly heldAt?: number;
  readonly reason: string;
  readonly original: string;
}

export interface SourceContext {
  /** Aborted at pause, cancel and shutdown: `open` and `listParts` end with its reason. */
  readonly signal: AbortSignal;
  /** For a source that waits by itself: shows people why and how long, until its next chunk. */
  readonly waiting?: (reason: string, waitMs: number) => void;
  /** Files among others that hold no records are left out; undefined: whatever is no record is an error. */
  readonly foreign?: ForeignFiles;
  /** The caller calls `release` in the end: what it reads until then may be read as it was at one moment. */
  readonly holdsSnapshot?: boolean;
  /** Parts that the run has noted down before: a source without an end of its own keeps the one that they have. */
  readonly known?: readonly Pick<SourcePart, 'key' | 'detail'>[];
  /** Told by `open` before its end, when all of the part was read. */
  readonly wasRead?: (read: PartRead) => void;
  /** How a source waits by itself; tests give one that does not. */
  readonly sleep?: Sleep;
}

/** Files among others that hold no records: readmes, manifests, checksums. */
export interface ForeignFiles {
  /** Whether a record may be one of the format, be it a broken one. */
  readonly isRecord: (record: unknown) => boolean;
  /** Told of each that is left out, by its name and with the reason. */
  readonly leftOut: (file: string, reason: string, records?: number) => void;
}

/** Gives an address of the host that may be reached at this port. */
export type ResolveHost = (host: string, port: number) => Promise<string>;

/** Files that were uploaded for the project and lie where all processes reach them. */
export interface UploadedFiles {
  /** Those of this name, or whose names match it as a pattern; by name. */
  find(pattern: string): Promise<readonly UploadedFile[]>;
  /** Path of a copy on this machine, there until the run is let go. Throws SourceError when there is none of this name. */
  copy(name: string): Promise<string>;
}

export interface UploadedFile {
  readonly name: string;
  readonly bytes: number;
  /** Changes when the content does. */
  readonly identity: string;
  /** ms since the epoch. */
  readonly modifiedAt: number;
}

/** What the program gives to sources. */
export interface SourceHost {
  /** Addresses checked as for plugins, answers without limit of size. */
  readonly stream: OutboundStream;
  /** Directories from which files may be read; undefined: any (the command line reads its user's files). */
  readonly allowedDirs: readonly string[] | undefined;
  /** Where files lie that were uploaded for the project; undefined, without `uploads`: nobody can upload. */
  readonly uploadsDir?: string | undefined;
  /** Instead of it, where uploaded files lie elsewhere than on this machine. */
  readonly uploads?: UploadedFiles | undefined;
  /** The checked address for a connection that a source makes itself (PostgreSQL, S3). Throws OutboundError for a refused host. */
  readonly resolve: ResolveHost;
  /**
   * Whether a source may use what the machine itself may do in a cloud; by default no. `anywhere`: also at an address that a setting
   * names, because its author owns the credentials.
   */
  readonly machineCredentials?: boolean | 'anywhere';
  /** ms since the epoch. */
  readonly now: () => number;
  /** A directory for what has to lie on disk while it is read (zip archives); removed when the run ends. */
  readonly tempDir: string;
}

/** Waiting may help: 429, 5xx, a broken connection, a truncated answer. The part is tried again, with growing pauses. */
export class SourceWaitError extends Error {
  override name: string = 'SourceWaitError';
  /** As the source asks for (Retry-After). */
  readonly retryAfterMs: number | undefined;
  /** False: tried a few times, then the run fails: the answer itself is broken (truncated, not what it says it is). */
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

/** Somebody writes to it at this moment. Tried a few times, as an answer that is broken in itself. */
export class StillWrittenError extends SourceWaitError {
  override name = 'StillWrittenError';

  constructor(message: string) {
    super(message, { unlimited: false });
  }
}

/** Waiting does not help: wrong credentials, no such bucket, a range that the source refuses. The run fails with this sentence. */
export class SourceError extends Error {
  override name: string = 'SourceError';
  readonly advice: FailureAdvice | undefined;

  constructor(message: string, options: { readonly advice?: FailureAdvice; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.advice = options.advice;
  }
}

/** What a person does about a run that has failed, in the words of whoever reads it; where it is not simply to go on. */
export type FailureAdvice = 'resume' | 'startAgain' | 'resumeOrStartAgain';

/** The part is not what was listed any more: it is listed and read anew. The message says what has happened to it. */
export class SourceChangedError extends SourceError {
  override name = 'SourceChangedError';
}
