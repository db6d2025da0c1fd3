import {
  SourceError,
  SourceWaitError,
  type RecordChunk,
  type Source,
  type SourceHost,
  type SourcePart,
} from '../source.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource } from '../../plugins/plugin.ts';
import { databaseFileFields, databaseFileOf, databaseFileSettings, findDatabaseFile } from './database-file.ts';
import { shortKey } from './find-files.ts';
import { ReaderEndedError, startReader } from './reader-process.ts';
import type { SqliteAnswer, SqliteRead } from './sqlite-process.ts';

/** Memory limit of the process that runs the query. */
const memoryBytesMax = 512 * 1024 * 1024;

/** Rows of a query to an SQLite file. */
export const sqlite = defineImportSource({
  slug: 'sqlite',
  name: 'SQLite',
  description:
    'Imports the rows of a query to an SQLite database file, which is opened read-only. Choose the format mapping to define ' +
    'which column is the event, the person and the time.',
  fields: databaseFileFields,
  formats: [],
  range: undefined,
  example: { path: 'upload:shop.db', query: 'select id, name, user_id, created_at from events order by id' },
  createSource,
});

function createSource(settings: SettingValues, host: SourceHost): Source {
  const { path, query } = databaseFileSettings(settings, host);
  return {
    concurrency: 1,
    async listParts(_range, { signal }) {
      const file = await findDatabaseFile(path, host, signal);
      const { shown, bytes, identity } = file;
      // A select sees the database as of its beginning.
      const about = { bytes, identity, stable: false, isSnapshot: true };
      return [{ key: shortKey(shown), ...about, detail: { path: file.path, shown } }];
    },
    open: (part, { signal }) => readRows(part, { query, host, signal }),
  };
}

async function* readRows(
  part: SourcePart,
  { query, host, signal }: { readonly query: string; readonly host: SourceHost; readonly signal: AbortSignal },
): AsyncGenerator<RecordChunk> {
  const { path, shown } = await databaseFileOf(part, host);
  signal.throwIfAborted();
  const entry = new URL('./sqlite-process.ts', import.meta.url);
  const reader = startReader<SqliteAnswer>(entry, { path, query } satisfies SqliteRead, memoryBytesMax);
  try {
    for (let bytesRead = 0; ;) {
      const answer = await reader.ask(signal).catch((error: unknown) => {
        throw error instanceof ReaderEndedError ? endedError(error, shown) : error;
      });
      if (answer.kind === 'failed') throw sqliteError(answer, shown);
      if (answer.kind === 'end') return;
      bytesRead += answer.lines.length;
      const { buffer, byteOffset, byteLength } = answer.lines;
      yield { lines: Buffer.from(buffer, byteOffset, byteLength), count: answer.count, bytesRead };
    }
  } finally {
    reader.kill();
  }
}

function endedError(error: ReaderEndedError, shown: string): Error {
  const { message, overLimit } = error;
  if (!overLimit)
    return new SourceWaitError(`SQLite crashed (${message}) while reading ${shown}`, { unlimited: false });
  const advice = 'ask for smaller values or fewer columns, or export the rows to a file';
  return new SourceError(`the query to ${shown} was ended: ${message}; ${advice}`);
}

/** Primary result codes of SQLite. */
const code = {
  error: 1,
  busy: 5,
  locked: 6,
  readOnly: 8,
  corrupt: 11,
  cannotOpen: 14,
  auth: 23,
  noDatabase: 26,
} as const;

function sqliteError({ errcode, message }: Extract<SqliteAnswer, { kind: 'failed' }>, shown: string): Error {
  const primary = errcode & 0xff;
  if (primary === code.busy || primary === code.locked) {
    return new SourceWaitError(`${shown} is locked by another program: ${message}`, { unlimited: true });
  }
  if (primary === code.auth) {
    return new SourceError(
      `expected a query that only reads tables of ${shown}, got one that does something else (${message}): attach, pragma and writes are not allowed`,
    );
  }
  if (primary === code.noDatabase) return new SourceError(`expected an SQLite database at ${shown}, got another file`);
  if (primary === code.corrupt) {
    return new SourceError(
      `the SQLite database ${shown} is damaged: ${message}; save what can be saved with sqlite3 and .recover`,
    );
  }
  if (primary === code.cannotOpen || primary === code.readOnly) {
    return new SourceError(
      `${shown} cannot be opened for reading: ${message}; a database in WAL mode needs writable files next to it: copy it to a writable directory`,
    );
  }
  return new SourceError(`SQLite rejected the query to ${shown}: ${message}`);
}
