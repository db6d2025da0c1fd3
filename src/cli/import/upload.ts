import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../base/retry.ts';
import type { ImportFileRecord } from '../../wire/contract/import-runs.ts';
import { projectApi, type ApiOptions, type ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { numberText } from '../progress-line.ts';
import type { Terminal } from '../terminal.ts';

/** Small enough for a slow connection, large enough for few requests. */
const pieceBytes = 8 * 1024 * 1024;
const retriesMax = 5;

export interface UploadOptions extends ApiOptions {
  /** Default: the name of the file. */
  readonly name?: string;
  /** Whether to resume a partial upload instead of replacing it. */
  readonly resume?: boolean;
}

/** Uploads a file in pieces and resends a piece that fails. Errors: CommandError. */
export async function uploadFile(terminal: Terminal, options: UploadOptions, path: string): Promise<ImportFileRecord> {
  const api = projectApi(options);
  const name = options.name ?? basename(path);
  const size = await sizeOf(path);
  const there = options.resume === true ? await findFile(api, name) : undefined;
  if (there !== undefined && there.bytes > size) {
    throw new CommandError('failed', `the service has ${there.bytes} bytes of ${name}, more than the file (${size})`);
  }
  if (there?.complete === true && there.bytes === size) return there;
  await using file = await open(path);
  let stored = there?.complete === false ? there : undefined;
  while (stored?.complete !== true) {
    const offset: number = stored?.bytes ?? 0;
    const piece = Buffer.alloc(Math.min(pieceBytes, size - offset));
    const { bytesRead } = await file.read(piece, 0, piece.length, offset);
    if (bytesRead < piece.length) throw new CommandError('failed', `${path} was truncated while it was read`);
    stored = await sendPiece(api, { name, offset, size, piece });
    if (stored.bytes < size) terminal.note(`${numberText(stored.bytes)} of ${numberText(size)} bytes`);
  }
  return stored;
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    throw new CommandError('notFound', `cannot read ${path} (${cause.code})`, { cause });
  });
  if (found.isFile()) return found.size;
  throw new CommandError('usage', `expected a file, got ${path}`);
}

interface Piece {
  readonly name: string;
  readonly offset: number;
  /** Size of the whole file, which no import reads before it is complete. */
  readonly size: number;
  readonly piece: Uint8Array<ArrayBuffer>;
}

async function sendPiece(api: ProjectApi, { name, offset, size, piece }: Piece): Promise<ImportFileRecord> {
  const query = new URLSearchParams({ name, offset: String(offset), size: String(size) }).toString();
  for (let failures = 0; ; failures += 1) {
    const form = new FormData();
    form.set('file', new Blob([piece]), name);
    try {
      return await api.send<ImportFileRecord>('POST', `${api.root}/import_files/?${query}`, form);
    } catch (error) {
      if (!(error instanceof CommandError) || error.reason !== 'unreachable' || failures >= retriesMax) throw error;
      await sleep(backoffMs(failures, 500, 15_000));
      // The piece may have arrived, with only the response lost.
      const there = await findFile(api, name).catch(() => undefined);
      if (offset > 0 && there?.bytes === offset + piece.length) return there;
    }
  }
}

async function findFile(api: ProjectApi, name: string): Promise<ImportFileRecord | undefined> {
  const { results } = await api.get<{ results: ImportFileRecord[] }>(`${api.root}/import_files/`);
  const own = results.filter((file) => file.name === name);
  return own.find(({ complete }) => !complete) ?? own[0];
}
