import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import {
  describeEventLog,
  describeSharedEventLog,
  noLimits,
  record,
  texts,
  type SharedLog,
} from '../../../test/conformance/event-log/event-log.ts';
import { describeOnPostgres, type PostgresDatabase } from '../../../test/support/postgres-database.ts';
import { createCursors } from '../../../test/support/eventlog/cursors.ts';
import { lanes, LogUnavailableError, type EventLogWriter } from '../eventlog.ts';
import type { PostgresLogOptions } from './connect.ts';
import { openPostgresLogReaders } from './reader.ts';
import { openPostgresLogWriter } from './writer.ts';

/** A log in a separate schema. */
interface TestLog extends SharedLog {
  readonly options: PostgresLogOptions;
}

async function createLog({ url, db }: PostgresDatabase, slots = 3): Promise<TestLog> {
  const schema = `log_${randomUUID().replaceAll('-', '')}`;
  await sql`create schema ${sql.id(schema)}`.execute(db);
  const own = new URL(url);
  own.searchParams.set('options', `-c search_path=${schema}`);
  const options = { url: own.href, slots, bodyBytesMax: 20_971_520, connectionsMax: 4 };
  const cursors = createCursors();
  return {
    options,
    slots,
    openWriter: () => openPostgresLogWriter({ ...options, pollMs: 20 }, { cursors: cursors.read }),
    openReader: async (slot, deps = {}) => {
      const readers = await openPostgresLogReaders({ ...options, deleteEveryMs: 50 }, deps);
      const reader = readers.reader(slot);
      const close = async (): Promise<void> => {
        await reader.close();
        await readers.close();
      };
      return { ...cursors.watched(reader, slot), close };
    },
    dispose: async () => void (await sql`drop schema ${sql.id(schema)} cascade`.execute(db)),
  };
}

describeOnPostgres('PostgreSQL', (database) => {
  describeEventLog('PostgreSQL', async () => {
    const log = await createLog(database, 1);
    const writer = await log.openWriter();
    const reader = await log.openReader(0);
    return { writer, reader, dispose: () => log.dispose() };
  });
  describeSharedEventLog('PostgreSQL', async () => {
    const log = await createLog(database);
    await (await log.openWriter()).close();
    return log;
  });

  describe('the event log in PostgreSQL', () => {
    it('twenty processes that start together create its tables once', async () => {
      const log = await createLog(database, 5);
      const writers = await Promise.all(Array.from({ length: 20 }, () => log.openWriter()));
      const seqs = await Promise.all(writers.map((writer, n) => writer.append('live', record(String(n)), 4)));
      expect(seqs.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
      await Promise.all(writers.map((writer) => writer.close()));
      await log.dispose();
    });

    it('a reader that follows two writers sees every record once and in order', async () => {
      const log = await createLog(database, 1);
      const writers = [await log.openWriter(), await log.openWriter()];
      const reader = await log.openReader(0);
      const each = 300;
      const appended = Promise.all(
        writers.flatMap((writer, name) =>
          Array.from({ length: each }, (_, n) => writer.append('live', record(`${name}:${n}`), 0)),
        ),
      );
      const found: string[] = [];
      for (let after = 0; found.length < each * writers.length;) {
        const records = await reader.read('live', after, { ...noLimits, events: 7 });
        expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => after + index + 1));
        found.push(...texts(records));
        after = records.at(-1)?.seq ?? after;
        if (records.length === 0) await reader.waitForAppend(1000);
        else reader.commit('live', after);
      }
      await appended;
      for (const name of writers.keys()) {
        expect(found.filter((text) => text.startsWith(`${name}:`))).toEqual(
          Array.from({ length: each }, (_, n) => `${name}:${n}`),
        );
      }
      await reader.close();
      for (const writer of writers) await writer.close();
      await log.dispose();
    });

    it('stored records are deleted, others stay', async () => {
      const log = await createLog(database, 1);
      const writer = await log.openWriter();
      const reader = await log.openReader(0);
      const seqs: number[] = [];
      for (const text of ['a', 'b', 'c']) seqs.push(await writer.append('live', record(text), 0));
      reader.commit('live', seqs[1] ?? 0);
      await expect.poll(async () => texts(await reader.read('live', 0, noLimits))).toEqual(['c']);
      await reader.close();
      await writer.close();
      await log.dispose();
    });

    it('a connection that is lost costs the appends in flight only, which are refused', async () => {
      const log = await createLog(database, 1);
      const writer = await log.openWriter();
      await writer.append('live', record('before'), 0);
      const outcomes: boolean[] = [];
      const over = new AbortController();
      const appending = appendUntil(over.signal, writer, outcomes);
      const kill = sql`select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'millrace event log' and datname = current_database()`;
      await expect
        .poll(async () => (await kill.execute(database.db)) && outcomes.includes(false), { timeout: 20_000 })
        .toBe(true);
      const failedAt = outcomes.length;
      await expect.poll(() => outcomes.slice(failedAt).includes(true)).toBe(true);
      over.abort();
      await appending;
      const reader = await log.openReader(0);
      const stored = texts(await reader.read('live', 0, noLimits)).slice(1);
      // A refused record may be stored, an acknowledged one must be.
      const acknowledged = outcomes.flatMap((ok, n) => (ok ? [String(n)] : []));
      expect(stored.filter((text) => outcomes[Number(text)])).toEqual(acknowledged);
      await reader.close();
      await writer.close();
      await log.dispose();
    });

    it('a commit waits for the disk even if the user has synchronous_commit off', async () => {
      const log = await createLog(database, 1);
      const own = new URL(log.options.url);
      own.searchParams.set('options', `${own.searchParams.get('options')} -c synchronous_commit=off`);
      const writer = await openPostgresLogWriter(
        { ...log.options, url: own.href },
        { cursors: async () => ({ live: new Map(), historical: new Map() }) },
      );
      await sql`create table ${sql.id(schemaOf(log))}.seen (setting text)`.execute(database.db);
      await sql`create function ${sql.id(schemaOf(log))}.note() returns trigger language plpgsql as
        $$ begin insert into seen values (current_setting('synchronous_commit')); return new; end $$`.execute(
        database.db,
      );
      await sql`create trigger note before insert on ${sql.id(schemaOf(log))}.event_log_records
        for each row execute function ${sql.id(schemaOf(log))}.note()`.execute(database.db);
      await writer.append('live', record('a'), 0);
      const { rows } = await sql<{ setting: string }>`select setting from ${sql.id(schemaOf(log))}.seen`.execute(
        database.db,
      );
      expect(rows).toEqual([{ setting: 'on' }]);
      await writer.close();
      await log.dispose();
    });

    it('another number of slots is refused with the number to set', async () => {
      const log = await createLog(database, 3);
      await (await log.openWriter()).close();
      const opening = openPostgresLogWriter(
        { ...log.options, slots: 4 },
        { cursors: async () => ({ live: new Map(), historical: new Map() }) },
      );
      await expect(opening).rejects.toMatchObject({
        name: 'LogMisconfiguredError',
        message: expect.stringContaining('has 3 slots, MILLRACE_SLOTS is 4'),
      });
      await log.dispose();
    });

    it('a log that ends before its cursor accepts nothing, and says so once', async () => {
      const log = await createLog(database, 1);
      const problems: string[] = [];
      const cursors = { live: new Map([[0, 5]]), historical: new Map<number, number>() };
      const writer = await openPostgresLogWriter(
        { ...log.options, pollMs: 20 },
        { cursors: async () => cursors, onProblem: (sentence) => problems.push(sentence) },
      );
      await expect(writer.append('live', record('a'), 0)).rejects.toThrow(
        'ends at 0, but 5 records of it are processed',
      );
      await writer.append('historical', record('a'), 0);
      expect(problems.filter((sentence) => sentence.includes('ends at'))).toHaveLength(1);
      await writer.close();
      await log.dispose();
    });

    it('a row that was changed is returned as damaged, and costs no other', async () => {
      const log = await createLog(database, 1);
      const writer = await log.openWriter();
      for (const text of ['a', 'b', 'c']) await writer.append('live', record(text), 0);
      await sql`update ${sql.id(schemaOf(log))}.event_log_records set body = 'x' where seq = 2`.execute(database.db);
      const reader = await log.openReader(0);
      const found = await reader.read('live', 0, noLimits);
      expect(found.map(({ damaged }) => damaged !== undefined)).toEqual([false, true, false]);
      await reader.close();
      await writer.close();
      await log.dispose();
    });

    it('a reader without tables waits for a process that creates them', async () => {
      const log = await createLog(database, 1);
      await expect(openPostgresLogReaders(log.options, {})).rejects.toMatchObject({ name: 'LogUnavailableError' });
      await log.dispose();
    });

    it('a range that was read before is not returned shorter', async () => {
      const log = await createLog(database, 1);
      const writer = await log.openWriter();
      const reader = await log.openReader(0);
      for (const lane of lanes) {
        await writer.append(lane, record('a'), 0);
        await expect(reader.read(lane, 0, { ...noLimits, lastSeq: 2 })).rejects.toMatchObject({
          name: 'LogUnavailableError',
        });
      }
      await reader.close();
      await writer.close();
      await log.dispose();
    });
  });
});

function schemaOf({ options }: TestLog): string {
  return new URL(options.url).searchParams.get('options')?.split('=')[1] ?? '';
}

/** Appends records named by their number, one after another; `outcomes` receives whether each was acknowledged. */
async function appendUntil(signal: AbortSignal, writer: EventLogWriter, outcomes: boolean[]): Promise<void> {
  for (let n = 0; !signal.aborted; n += 1) {
    try {
      await writer.append('live', record(String(n)), 0);
      outcomes.push(true);
    } catch (error) {
      if (!(error instanceof LogUnavailableError)) throw error;
      outcomes.push(false);
    }
  }
}
