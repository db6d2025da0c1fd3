import { createHash } from 'node:crypto';
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
  /** Returns at most 1000 files by name. */
  list(): Promise<readonly StoredFile[]>;
  /**
   * Writes the piece of a file that starts at `offset`; 0 replaces a file of this name. Durable when it resolves; an incomplete
   * piece leaves the file unchanged.
   * @throws ApiError conflict, request_too_large
   */
  write(
    name: string,
    offset: number,
    content: AsyncIterable<Buffer>,
  ): Promise<StoredFile & { readonly sha256: string }>;
  /** Renames a file, replacing one with the new name. */
  rename(name: string, to: string): Promise<void>;
  /** Returns false if the file does not exist. */
  remove(name: string): Promise<boolean>;
}

/** Limits in bytes. */
export interface UploadLimits {
  /** Maximum size of a file. */
  readonly fileBytesMax: number;
  /** Maximum size of all files of the project. */
  readonly totalBytesMax: number;
}

/** Remaining bytes, and the error for more. */
export interface Room {
  readonly bytes: number;
  readonly refusal: string;
}

/**
 * Returns a portable file name: letters, digits, `.`, `-` and `_`, from the last segment of a path. A name with other characters gets a part
 * of its hash, so that different names never become the same file.
 * @throws ApiError invalid_input if it has neither letters nor digits
 */
export function fileNameOf(given: string): string {
  const last = given.split(/[/\\]/).at(-1) ?? '';
  if (!/[\p{L}\p{N}]/u.test(last)) {
    throw new ApiError(
      'invalid_input',
      'Expected the name of a file with letters or digits, such as events.jsonl.gz.',
      {
        attr: 'name',
      },
    );
  }
  const name = isPortable.test(last) && last.length <= nameCharsMax ? last : portableName(last);
  if (!name.endsWith(unfinishedSuffix)) return name;
  throw new ApiError('invalid_input', `Expected a name that does not end with ${unfinishedSuffix}.`, { attr: 'name' });
}

const isPortable = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;
const hashChars = 8;

function portableName(last: string): string {
  const [ending = ''] = /(?:\.[A-Za-z0-9]{1,10}){0,2}$/.exec(last) ?? [];
  const hash = createHash('sha256').update(last).digest('hex').slice(0, hashChars);
  const rest = last
    .slice(0, last.length - ending.length)
    .replaceAll(/[^A-Za-z0-9._-]+/g, '_')
    .replaceAll(/^[._-]+|[._-]+$/g, '')
    .slice(0, nameCharsMax - hashChars - 1 - ending.length);
  return `${rest === '' ? 'file' : rest}-${hash}${ending}`;
}

/**
 * @param there the length of the file and the number of files in the project
 * @throws ApiError conflict
 */
export function refuseMisplaced(
  { name, offset }: { readonly name: string; readonly offset: number },
  there: { readonly bytes: number | undefined; readonly files: number },
): void {
  if (there.bytes === undefined && offset === 0) {
    if (there.files < filesMax) return;
    throw new ApiError('conflict', `The project already has ${filesMax} uploaded files; delete some first.`);
  }
  if (offset === 0 || there.bytes === offset) return;
  const detail = `Expected the piece to start at ${there.bytes ?? 0}, where "${name}" ends, got offset ${offset}.`;
  throw new ApiError('conflict', detail, { attr: 'offset' });
}

/**
 * Returns the tightest of the limits for a piece that starts at `offset`.
 * @param of `used` by all other files, and by this one when it continues; `free` on the disk, omitted if unknown
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
        `Expected uploaded files of at most ${totalBytesMax} bytes in total (MILLRACE_IMPORT_UPLOADS_BYTES_MAX), of which ` +
        `${Math.max(0, left)} are left; delete files that are imported: DELETE import_files/<name>/.`,
    },
    {
      bytes: free ?? Infinity,
      refusal: 'Expected a file that fits on the disk of the service, got a larger one; free disk space.',
    },
  ];
  return rooms.reduce((tightest, room) => (room.bytes < tightest.bytes ? room : tightest));
}

/** @throws ApiError request_too_large */
export function refuseTooLarge(bytes: number, room: Room): void {
  if (bytes > room.bytes) throw new ApiError('request_too_large', room.refusal);
}
