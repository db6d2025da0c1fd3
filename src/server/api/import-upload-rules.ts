import { ApiError } from '../../wire/contract/errors.ts';
import { unfinishedSuffix } from '../../imports/unfinished-upload.ts';

const nameCharsMax = 150;
export const filesMax = 1_000;

export interface StoredFile {
  readonly name: string;
  readonly bytes: number;
  /** ms since the epoch. */
  readonly changedAt: number;
}

export interface ImportFiles {
  /** By name, at most 1000. */
  list(): Promise<readonly StoredFile[]>;
  /**
   * The piece of a file that begins at `offset`; 0 replaces a file of this name. Durable when it resolves; a piece that does not
   * come whole leaves the file as it was.
   * @throws ApiError conflict, request_too_large
   */
  write(
    name: string,
    offset: number,
    content: AsyncIterable<Buffer>,
  ): Promise<StoredFile & { readonly sha256: string }>;
  /** Gives a file another name, in place of one that has it. */
  rename(name: string, to: string): Promise<void>;
  /** False: there is none. */
  remove(name: string): Promise<boolean>;
}

/** In bytes. */
export interface UploadLimits {
  /** Of one file. */
  readonly fileBytesMax: number;
  /** Of all files of the project. */
  readonly totalBytesMax: number;
}

/** How many bytes may come, and the sentence for more. */
export interface Room {
  readonly bytes: number;
  readonly refusal: string;
}

/**
 * A name that is a name everywhere: letters, digits, `.`, `-` and `_`; of a path its last part.
 * @throws ApiError invalid_input when nothing is left of it
 */
export function fileNameOf(given: string): string {
  const last = given.split(/[/\\]/).at(-1) ?? '';
  const name = last.replaceAll(/[^A-Za-z0-9._-]+/g, '_').replace(/^[._]+/, '');
  if (name.endsWith(unfinishedSuffix)) {
    throw new ApiError('invalid_input', `Expected a name that does not end with ${unfinishedSuffix}.`, {
      attr: 'name',
    });
  }
  if (name !== '') return name.slice(-nameCharsMax).replace(/^[._]+/, '');
  throw new ApiError('invalid_input', 'Expected the name of a file with letters or digits, such as events.jsonl.gz.', {
    attr: 'name',
  });
}

/**
 * @param there how long the file is, and how many there are in the project
 * @throws ApiError conflict
 */
export function refuseMisplaced(
  { name, offset }: { readonly name: string; readonly offset: number },
  there: { readonly bytes: number | undefined; readonly files: number },
): void {
  if (there.bytes === undefined && offset === 0) {
    if (there.files < filesMax) return;
    throw new ApiError('conflict', `The project has ${filesMax} uploaded files; delete some first.`);
  }
  if (offset === 0 || there.bytes === offset) return;
  const detail = `Expected the piece to begin at ${there.bytes ?? 0}, where "${name}" ends, got offset ${offset}.`;
  throw new ApiError('conflict', detail, { attr: 'offset' });
}

/**
 * The tightest of the limits, for a piece that begins at `offset`.
 * @param of `used` by all other files, and by this one when it goes on; `free` on the disk, left out: nobody can tell
 */
export function tightestRoom(
  { fileBytesMax, totalBytesMax }: UploadLimits,
  { used, offset, free }: { readonly used: number; readonly offset: number; readonly free?: number },
): Room {
  const left = totalBytesMax - used;
  const rooms: Room[] = [
    {
      bytes: fileBytesMax - offset,
      refusal: `Expected a file of at most ${fileBytesMax} bytes (MILLRACE_IMPORT_UPLOAD_BYTES_MAX), got more.`,
    },
    {
      bytes: left,
      refusal:
        `Expected uploaded files of at most ${totalBytesMax} bytes in all (MILLRACE_IMPORT_UPLOADS_BYTES_MAX), of which ` +
        `${Math.max(0, left)} are left; delete files that are imported: DELETE import_files/<name>/.`,
    },
    {
      bytes: free ?? Infinity,
      refusal: 'Expected a file for which there is room on the disk of the service, got more; make room.',
    },
  ];
  return rooms.reduce((tightest, room) => (room.bytes < tightest.bytes ? room : tightest));
}

/** @throws ApiError request_too_large */
export function refuseTooLarge(bytes: number, room: Room): void {
  if (bytes > room.bytes) throw new ApiError('request_too_large', room.refusal);
}
