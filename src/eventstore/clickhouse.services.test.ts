import { describe } from 'vitest';
import { connectClickhouse } from './clickhouse.ts';
import { eventStoreConformance, type StoreUnderTest } from './conformance.ts';
import { explorerConformance } from './explorer-conformance.ts';
import { readsConformance } from './reads-conformance.ts';

/** The same promises against a real server. Its database gains the rows of the tests: name one of its own. */
const url = process.env.CLICKHOUSE_URL ?? '';
const reason = url === '' ? ' (skipped: CLICKHOUSE_URL is not set)' : '';

async function open(): Promise<StoreUnderTest> {
  const store = await connectClickhouse(url);
  return { store, close: () => store.close() };
}

describe.skipIf(url === '')(`a ClickHouse server${reason}`, () => {
  eventStoreConformance('ClickHouse server', open);
  readsConformance('ClickHouse server', open);
  explorerConformance('ClickHouse server', open);
});
