import { eraseConformance } from '../../../../test/conformance/event-store/erase.ts';
import { describe, expect, it } from 'vitest';
import { ClickhouseStandIn } from '../../../../test/support/clickhouse-stand-in.ts';
import { findBinary, findLibrary } from '../../../../test/support/find-clickhouse.ts';
import {
  eventStoreConformance,
  insertRows,
  monthsConformance,
  newProject,
  testRow,
} from '../../../../test/conformance/event-store/event-store.ts';
import { StoreUnavailableError } from '../eventstore.ts';
import { expiryConformance } from '../../../../test/conformance/event-store/expiry.ts';
import { explorerConformance } from '../../../../test/conformance/event-store/explorer.ts';
import { readsConformance } from '../../../../test/conformance/event-store/reads.ts';
import { runTablesConformance } from '../../../../test/conformance/event-store/run-tables.ts';
import { connectClickhouse } from './connect-clickhouse.ts';

async function open(): Promise<{ store: Awaited<ReturnType<typeof connectClickhouse>>; close(): Promise<void> }> {
  const standIn = new ClickhouseStandIn();
  const store = await connectClickhouse(await standIn.listen());
  return {
    store,
    async close() {
      await store.close();
      await standIn.close();
    },
  };
}

// Where a single server runs, clickhouse.services.test.ts has the same suites on the same engine.
const hasServer =
  process.env.MILLRACE_TEST_SERVERS !== undefined && findBinary() === undefined && findLibrary() !== undefined;
if (!hasServer) {
  const name = 'ClickHouse over HTTP';
  eventStoreConformance(name, open);
  eraseConformance(name, open);
  readsConformance(name, open);
  expiryConformance(name, open);
  explorerConformance(name, open);
  runTablesConformance(name, open);
  monthsConformance(name, open);
}

describe('a ClickHouse server', () => {
  it('is unavailable if it cannot be reached, without revealing its address or password', async () => {
    const failure = await connectClickhouse('http://millrace:sec-ret@127.0.0.1:1/events_db').catch((e: unknown) => e);
    expect(failure).toBeInstanceOf(StoreUnavailableError);
    expect(String(failure)).not.toMatch(/sec-ret|127\.0\.0\.1/);
    expect(String(failure)).toContain('ECONNREFUSED');
  });

  it.each(['', 'sec-ret', 'ftp://user:sec-ret@host/', 'host:8123/sec-ret'])(
    'refuses the URL %j without repeating it',
    async (url) => {
      const failure = await connectClickhouse(url).catch((e: unknown) => e);
      expect(String(failure)).toContain('expected CLICKHOUSE_URL');
      expect(String(failure)).not.toContain('sec-ret');
    },
  );

  it('is unavailable after it stops, and a later insert of the same batch is exact', async () => {
    const standIn = new ClickhouseStandIn();
    const url = await standIn.listen();
    const store = await connectClickhouse(url);
    const project = newProject();
    const rows = [testRow(project)];
    await insertRows(store, 'away', rows);
    await store.close();
    const wrong = await connectClickhouse(url.replace('sec-ret', 'other')).catch((e: unknown) => e);
    expect(wrong).toBeInstanceOf(Error);
    const again = await connectClickhouse(url);
    await insertRows(again, 'away', rows);
    const sql = 'SELECT count() AS c FROM events WHERE project_id = {project:Int32}';
    expect(await again.query(sql, { project })).toEqual([{ c: '1' }]);
    await standIn.close();
    await expect(insertRows(again, 'away', rows)).rejects.toBeInstanceOf(StoreUnavailableError);
    await expect(again.query('SELECT 1')).rejects.toBeInstanceOf(StoreUnavailableError);
    expect((await again.health()).ok).toBe(false);
    await again.close();
  });

  it('receives no value of a row or parameter as SQL text', async () => {
    const standIn = new ClickhouseStandIn();
    const store = await connectClickhouse(await standIn.listen());
    await insertRows(store, 'text', [testRow(newProject(), { event: 'CANARY', distinctId: 'CANARY' })]);
    await store.query('SELECT {s:String} AS s', { s: 'CANARY' });
    expect(standIn.statements.join('\n')).not.toContain('CANARY');
    await store.close();
    await standIn.close();
  });
});
