import { open } from 'node:fs/promises';
import {
  SourceChangedError,
  SourceError,
  SourceWaitError,
  type RecordChunk,
  type Source,
  type SourceContext,
  type SourceHost,
  type SourcePart,
} from '../source.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource } from '../../plugins/plugin.ts';
import type { DuckDbAnswer, DuckDbRead } from './duckdb-process.ts';
import {
  databaseFileFields,
  databaseFileOf,
  databaseFileSettings,
  findDatabaseFile,
  type FilePlace,
} from './database-file.ts';
import { statFile, shortKey } from './find-files.ts';
import { ReaderEndedError, startReader } from './reader-process.ts';

/** The version that this program is tested with. It takes 70 MB, so only users who need it install it. */
export const duckDbPackage = '@duckdb/node-api@1.5.6-r.1';
/** Limit of its process: the engine's own limit (duckdb-process.ts), and as much for rows in transit. */
const memoryBytesMax = 2 * 1024 ** 3;
const magic = 'DUCK';
const magicAt = 8;

/** Rows of a query to a DuckDB file. */
export const duckdb = defineImportSource({
  slug: 'duckdb',
  name: 'DuckDB',
  description:
    'Imports the rows of a query to a DuckDB database file, which is opened read-only. Choose the format mapping to define ' +
    `which column is the event, the person and the time. Needs the package ${duckDbPackage}, which must be installed separately.`,
  fields: databaseFileFields,
  formats: [],
  range: undefined,
  example: { path: 'upload:shop.duckdb', query: 'select id, name, user_id, created_at from events order by id' },
  createSource,
});

interface DuckDbDeps {
  readonly path: string;
  readonly query: string;
  readonly host: SourceHost;
}

function createSource(settings: SettingValues, host: SourceHost): Source {
  const { path, query } = databaseFileSettings(settings, host);
  const deps = { path, query, host };
  return {
    concurrency: 1,
    async listParts(_range, { signal }) {
      const file = await findDatabaseFile(path, host, signal);
      const { shown, bytes } = file;
      const detail = { path: file.path, shown };
      return [{ key: shortKey(shown), bytes, identity: await identityNow(detail, host), stable: false, detail }];
    },
    open: (part, context) => readRows(deps, part, context),
  };
}

/** Identity of the file and of the write-ahead log next to it. */
async function identityNow({ path, shown }: FilePlace, host: SourceHost): Promise<string> {
  const { identity } = await statFile(path, shown, host);
  const log = await statFile(`${path}.wal`, `${shown}.wal`, host).catch((error: unknown) => {
    if (error instanceof SourceError) return undefined;
    throw error;
  });
  return log === undefined ? identity : `${identity} ${log.identity}`;
}

async function* readRows(
  { query, host }: DuckDbDeps,
  part: SourcePart,
  { signal }: SourceContext,
): AsyncGenerator<RecordChunk> {
  const place = await databaseFileOf(part, host);
  const { path, shown } = place;
  await mustBeDuckDb(place);
  signal.throwIfAborted();
  const entry = new URL('./duckdb-process.ts', import.meta.url);
  const read: DuckDbRead = { path, query, tempDir: host.tempDir };
  const reader = startReader<DuckDbAnswer>(entry, read, memoryBytesMax);
  try {
    for (let bytesRead = 0; ;) {
      const answer = await reader.ask(signal).catch((error: unknown) => {
        throw error instanceof ReaderEndedError ? endedError(error, shown) : error;
      });
      if (answer.kind === 'absent') throw absent();
      if (answer.kind === 'failed') throw duckDbError(answer, shown);
      if (answer.kind === 'end') break;
      bytesRead += answer.lines.length;
      const { buffer, byteOffset, byteLength } = answer.lines;
      yield { lines: Buffer.from(buffer, byteOffset, byteLength), count: answer.count, bytesRead };
    }
  } finally {
    reader.kill();
  }
  // DuckDB locks the open file, but it can still be replaced.
  const now = await identityNow(place, host);
  if (part.identity !== undefined && now !== part.identity) throw new SourceChangedError(`${shown} was changed`);
}

/** Checked first, so that users without the package also learn that the file has another format. */
async function mustBeDuckDb({ path, shown }: FilePlace): Promise<void> {
  const handle = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(magic.length), 0, magic.length, magicAt);
    if (bytesRead === magic.length && buffer.toString('latin1') === magic) return;
  } finally {
    await handle.close();
  }
  throw new SourceError(`expected a DuckDB database at ${shown}, got another file`);
}

function endedError({ message, overLimit }: ReaderEndedError, shown: string): Error {
  if (overLimit)
    return new SourceError(`the query to ${shown} was ended: ${message}; ask for fewer columns or smaller values`);
  const text = `DuckDB crashed (${message}) while reading ${shown}: the file may be damaged`;
  return new SourceWaitError(text, { unlimited: false });
}

function absent(): SourceError {
  return new SourceError(
    `expected the package for DuckDB files, which must be installed separately: run "npm install --prefix src --no-save ${duckDbPackage}" in ` +
      'the directory of this program, then try again; or let DuckDB write the rows to a Parquet file',
  );
}

function duckDbError({ at, message }: Extract<DuckDbAnswer, { kind: 'failed' }>, shown: string): Error {
  if (at === 'query') return new SourceError(`DuckDB rejected the query to ${shown}: ${message}`);
  if (at === 'load') return new SourceError(`the package ${duckDbPackage} cannot work on this machine: ${message}`);
  const advice = 'a program that has it open for writing must close it; a file of a newer DuckDB needs a newer package';
  return new SourceWaitError(`DuckDB cannot open ${shown}: ${message}; ${advice}`, { unlimited: false });
}
