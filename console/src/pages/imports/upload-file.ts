import { projectPath } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import type { ImportFileRecord } from '../../../../src/wire/contract/import-runs.ts';

export interface UploadedFiles {
  readonly bytes_max: number;
  readonly total_bytes: number;
  readonly total_bytes_max: number;
  readonly results: readonly ImportFileRecord[];
}

export function filesPath(projectId: number): string {
  return projectPath(projectId, 'import_files');
}

interface UploadOptions {
  readonly projectId: number;
  readonly file: File;
  /** Where to begin: bytes that are there already. */
  readonly from: number;
  readonly onProgress: (bytes: number) => void;
}

const pieceBytes = 4 * 1024 * 1024;

/** Sends a file piece by piece, so that a line that breaks costs one piece. */
export async function uploadFile({ projectId, file, from, onProgress }: UploadOptions): Promise<void> {
  let offset = from;
  do {
    const piece = file.slice(offset, offset + pieceBytes);
    const { bytes } = await request<ImportFileRecord>(filesPath(projectId), {
      method: 'POST',
      query: { name: file.name, offset, size: file.size },
      headers: { 'content-type': 'application/octet-stream' },
      body: piece,
    });
    offset = bytes;
    onProgress(offset);
  } while (offset < file.size);
}

/** Which file it is that was begun: another one of the same name is not continued. */
export interface Begun {
  readonly name: string;
  readonly size: number;
  readonly modified: number;
}

export function isSameFile(begun: Begun | undefined, file: Pick<File, 'name' | 'size' | 'lastModified'>): boolean {
  return begun?.name === file.name && begun.size === file.size && begun.modified === file.lastModified;
}

/** Where to go on: what is there of the same file, 0 for another. */
export function resumeAt(begun: Begun | undefined, file: File, there: number | undefined): number {
  return isSameFile(begun, file) && there !== undefined && there < file.size ? there : 0;
}
