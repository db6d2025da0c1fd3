import {
  SourceChangedError,
  SourceError,
  StillWrittenError,
  type Source,
  type SourceContext,
  type SourceHost,
  type SourcePart,
} from '../source.ts';
import { checksumOfFile, createByteChecksum } from '../records/byte-checksum.ts';
import { readRecordFile } from '../records/read-records.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource } from '../../plugins/plugin.ts';
import { textSetting } from '../../plugins/setting-values.ts';
import { checkPaths, findFiles, lookAt, readablePath, shortKey, type FoundFile } from './find-files.ts';
import { sleep as standardSleep, type Sleep } from '../../base/retry.ts';

/** What is read, for every source of files: said once. */
export const fileKinds =
  'NDJSON, JSON arrays, batch objects, CSV with a header, Parquet and Avro, plain or in gzip, zstd, xz, bzip2, zip or tar, in UTF-8 or marked UTF-16. What a file is is seen by its content.';

/** Files on disk and uploaded ones. */
export const files = defineImportSource({
  slug: 'files',
  name: 'Files',
  description: `Imports files from disk, and files that were uploaded: ${fileKinds}`,
  fields: [
    {
      key: 'paths',
      name: 'Paths',
      type: 'text',
      required: true,
      hint:
        'One a line: a file, a directory (all files below it, by name), a pattern such as /data/2024-*.json.gz, or upload:name for ' +
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
      const look = ({ path, shown }: FoundFile): Promise<FoundFile> => lookAt(path, shown, host);
      await awaitWriters(found, { look, now: host.now, sleep, signal });
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
  // Allowed and the same as when it was listed, now that it is opened.
  const { path: listed, shown } = await placeOf(part, host);
  const isSame = async (): Promise<boolean> => (await lookAt(listed, shown, host)).identity === part.identity;
  if (!(await isSame())) throw new SourceChangedError(`${shown} has changed since it was listed`);
  const path = await readablePath({ path: listed, shown }, host);
  const sum = createByteChecksum();
  const isOneOfSeveral = part.detail?.['several'] === true;
  const hints = { name: shown, signal, tempDir: host.tempDir, onBytes: sum.add, foreign, isOneOfSeveral };
  yield* readRecordFile(path, hints);
  if (sum.bytes() === part.bytes) return wasRead?.({ checksum: sum.text() });
  // An archive or a Parquet file, which is not read from its beginning to its end.
  const checksum = await checksumOfFile(path, signal);
  if (await isSame()) wasRead?.({ checksum });
}

/** Throws SourceError when it is gone or may not be read, SourceChangedError when another file has taken its place. */
async function placeOf(part: SourcePart, host: SourceHost): Promise<{ readonly path: string; readonly shown: string }> {
  const { path, shown } = part.detail ?? {};
  if (typeof path !== 'string' || typeof shown !== 'string') throw new SourceError(`${part.key} is no file`);
  const file = await lookAt(path, shown, host);
  if (file.path !== path) throw new SourceChangedError(`${shown} is another file than the one that was listed`);
  return { path, shown };
}

function partOf({ shown, path, bytes, identity }: FoundFile, several: boolean): SourcePart {
  const detail = { path, shown, ...(several && { several }) };
  return { key: shortKey(shown), bytes, identity, stable: true, detail };
}

interface AwaitWritersDeps {
  /** The file as it is now. */
  readonly look: (file: FoundFile) => Promise<FoundFile>;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly sleep?: Sleep | undefined;
  readonly signal: AbortSignal;
}

/** A file that was changed within so much time may be in somebody's hands still. */
const freshMs = 3000;
/** Much longer than clocks of file systems tick: two writes within one tick leave one time. */
const pollMs = 150;

/**
 * Looks twice at files that were changed just now.
 * @throws StillWrittenError for one that is still being written
 */
async function awaitWriters(files: readonly FoundFile[], deps: AwaitWritersDeps): Promise<void> {
  const now = deps.now();
  const fresh = files.filter(({ modifiedAt }) => Math.abs(now - modifiedAt) < freshMs);
  if (fresh.length === 0) return;
  await (deps.sleep ?? standardSleep)(pollMs, deps.signal);
  for (const file of fresh) {
    const again = await deps.look(file);
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
