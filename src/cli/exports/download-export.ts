import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { manifestName, type ExportedPart, type ExportRecord } from '../../wire/contract/exports.ts';
import type { ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';

/** Where and how to download. */
export interface Download {
  readonly api: ProjectApi;
  /** Created if missing. */
  readonly dir: string;
  readonly signal: AbortSignal;
  /** Called after each file. */
  readonly onFile: (name: string) => void;
}

/**
 * Downloads the files of an export that is done, the manifest last. Files that are complete in the directory are kept, so that an interrupted
 * download resumes. Errors: failed, if a file differs from its checksum.
 */
export async function downloadExport(to: Download, record: ExportRecord): Promise<void> {
  const { result, progress } = record;
  if (result === null) {
    throw new CommandError('failed', `expected an export that is done, got one that is ${record.state}`);
  }
  await mkdir(to.dir, { recursive: true });
  const manifest = { name: manifestName, sha256: result.sha256 };
  for (const part of [...(progress?.parts ?? []), manifest]) {
    if (!(await isComplete(join(to.dir, part.name), part))) await downloadFile(to, record.id, part);
    to.onFile(part.name);
  }
}

type NamedFile = Pick<ExportedPart, 'name' | 'sha256'>;

async function downloadFile({ api, dir, signal }: Download, id: string, { name, sha256 }: NamedFile): Promise<void> {
  const path = join(dir, name);
  // Renamed once it is complete.
  const partial = `${path}.partial`;
  const response = await api.open(`${api.root}/exports/${id}/files/${name}/`, '*/*', signal);
  if (response.body === null) throw new CommandError('failed', `${name}: expected a file, got no body`);
  await pipeline(Readable.fromWeb(response.body), createWriteStream(partial), { signal });
  const found = await sumOf(partial);
  if (found !== sha256) {
    throw new CommandError('failed', `${name}: expected the SHA-256 ${sha256}, got ${found}; download it again`);
  }
  await rename(partial, path);
}

async function isComplete(path: string, { sha256 }: NamedFile): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true && (await sumOf(path)) === sha256;
}

async function sumOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
