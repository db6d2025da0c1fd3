import {
  SourceChangedError,
  SourceError,
  StillWrittenError,
  type Source,
  type SourceContext,
  type SourceHost,
  type SourcePart,
} from '../source.ts';
import { readRecordFile } from '../records/read-records.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource } from '../../plugins/plugin.ts';
import { textSetting } from '../../plugins/setting-values.ts';
import { checkPaths, findFiles, statFile, readablePath, shortKey, type FoundFile } from './find-files.ts';
import { sleep as standardSleep, type Sleep } from '../../base/retry.ts';
import { createReadStream } from 'node:fs';
import { crc32 } from 'node:zlib';

/** Supported file types, for every source of files. */
export const fileKinds =
  'NDJSON, JSON arrays, batch objects, CSV with a header, Parquet and Avro, plain or in gzip, zstd, xz, bzip2, zip or tar, in UTF-8 or marked UTF-16. File types are detected by content.';

/** Files on disk and uploaded files. */
export const files = defineImportSource({
  slug: 'files',
  name: 'Files',
  description: `Imports files from disk and uploaded files: ${fileKinds}`,
  fields: [
    {
      key: 'paths',
      name: 'Paths',
      type: 'text',
      required: true,
      hint:
        'One per line: a file, a directory (all files below it, by name), a pattern such as /data/2024-*.json.gz, or upload:name for ' +
        'an uploaded file (upload:* for all). The service reads only directories that its operator allows.',
    },
  ],
  formats: [],
  range: undefined,
  example: { paths: 'upload:events.json.gz' },
  createSource,
});

function createSource(settings: SettingValues, host: SourceHost): Source {
  const paths = textSetting(settings, 'paths')
    .split('\n')
    .map((path) => path.trim())
    .filter((path) => path !== '');
  checkPaths(paths, host);
  return {
    concurrency: 2,
    async listParts(_range, { signal, sleep }) {
      const found = await findFiles(paths, host, signal);
      const stat = ({ path, shown }: FoundFile): Promise<FoundFile> => statFile(path, shown, host);
      await awaitWriters(found, { stat, now: host.now, sleep, signal });
      return found.map((file) => partOf(file, found.length > 1));
    },
    open: (part, context) => readFilePart(part, host, context),
    checksumNow: async (part, { signal }) => {
      const path = await readablePath(await placeOf(part, host), host);
      return await checksumOfFile(path, signal);
    },
  };
}

async function* readFilePart(part: SourcePart, host: SourceHost, { signal, wasRead, foreign }: SourceContext) {
  // Checks again on opening that it is allowed and unchanged since it was listed.
  const { path: listed, shown } = await placeOf(part, host);
  const isSame = async (): Promise<boolean> => (await statFile(listed, shown, host)).identity === part.identity;
  if (!(await isSame())) throw new SourceChangedError(`${shown} has changed since it was listed`);
  const path = await readablePath({ path: listed, shown }, host);
  const sum = createByteChecksum();
  const isOneOfSeveral = part.detail?.['several'] === true;
  const hints = { name: shown, signal, tempDir: host.tempDir, onBytes: sum.add, foreign, isOneOfSeveral };
  yield* readRecordFile(path, hints);
  if (sum.bytes() === part.bytes) return wasRead?.({ checksum: sum.text() });
  // An archive or a Parquet file is not read sequentially.
  const checksum = await checksumOfFile(path, signal);
  if (await isSame()) wasRead?.({ checksum });
}

/** Throws SourceError if the file is missing or is outside the allowed directories, SourceChangedError if it was replaced. */
async function placeOf(part: SourcePart, host: SourceHost): Promise<{ readonly path: string; readonly shown: string }> {
  const { path, shown } = part.detail ?? {};
  if (typeof path !== 'string' || typeof shown !== 'string') throw new SourceError(`${part.key} is not a file`);
  const file = await statFile(path, shown, host);
  if (file.path !== path) throw new SourceChangedError(`${shown} is not the file that was listed`);
  return { path, shown };
}

function partOf({ shown, path, bytes, identity }: FoundFile, several: boolean): SourcePart {
  const detail = { path, shown, ...(several && { several }) };
  return { key: shortKey(shown), bytes, identity, stable: true, detail };
}

interface AwaitWritersDeps {
  /** Returns the current state of a file. */
  readonly stat: (file: FoundFile) => Promise<FoundFile>;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly sleep?: Sleep | undefined;
  readonly signal: AbortSignal;
}

/** A file changed this recently may still be being written. */
const freshMs = 3000;
/** Much longer than the clock resolution of file systems, within which two writes have the same time. */
const pollMs = 150;

/**
 * Checks recently changed files twice.
 * @throws StillWrittenError for a file that is still being written
 */
async function awaitWriters(files: readonly FoundFile[], deps: AwaitWritersDeps): Promise<void> {
  const now = deps.now();
  const fresh = files.filter(({ modifiedAt }) => Math.abs(now - modifiedAt) < freshMs);
  if (fresh.length === 0) return;
  await (deps.sleep ?? standardSleep)(pollMs, deps.signal);
  for (const file of fresh) {
    const again = await deps.stat(file);
    if (again.identity !== file.identity) throw stillWritten(file, again);
  }
}

function stillWritten({ shown, bytes }: FoundFile, again: FoundFile): StillWrittenError {
  const how =
    again.bytes === bytes ? 'it was changed just now' : `it went from ${bytes} to ${again.bytes} bytes just now`;
  return new StillWrittenError(
    `${shown} is still being written: ${how}; wait until that is done, or import a copy of what is there`,
  );
}

/**
 * Counts bytes of a stream and computes their CRC. It only has to distinguish a file that was touched from one that was modified,
 * and costs a tenth of a cryptographic hash when a file is read at full speed.
 */
interface ByteChecksum {
  add(bytes: Uint8Array): void;
  /** The number of bytes so far. */
  bytes(): number;
  text(): string;
}

const readBytes = 1024 * 1024;

function createByteChecksum(): ByteChecksum {
  let sum = 0;
  let count = 0;
  return {
    add(bytes) {
      sum = crc32(bytes, sum);
      count += bytes.length;
    },
    bytes: () => count,
    text: () => `crc32 ${sum.toString(16).padStart(8, '0')} of ${count} bytes`,
  };
}

/** Returns the checksum of a file. Throws the file system's errors, or the signal's reason. */
async function checksumOfFile(path: string, signal: AbortSignal): Promise<string> {
  const sum = createByteChecksum();
  // Sound: a stream without an encoding yields bytes.
  for await (const chunk of createReadStream(path, { highWaterMark: readBytes, signal })) sum.add(chunk as Buffer);
  return sum.text();
}
