import { expect, it } from 'vitest';
import { ClickhouseStandIn } from '../../../test/support/clickhouse-stand-in.ts';
import { connectClickhouse } from '../../stores/events/clickhouse/connect-clickhouse.ts';
import { StoreUnavailableError } from '../../stores/events/eventstore.ts';
import { storeWhenAsked } from './start-stores.ts';

it('a store that was unavailable at its first use is connected as soon as it is available', async () => {
  const server = new ClickhouseStandIn();
  const url = await server.listen();
  let tries = 0;
  const store = storeWhenAsked(async () => {
    tries += 1;
    return connectClickhouse(tries === 1 ? 'http://millrace:sec-ret@127.0.0.1:1/events_db' : url);
  });
  await expect(store.query('SELECT 1 AS one')).rejects.toBeInstanceOf(StoreUnavailableError);
  expect(await Promise.all([store.query('SELECT 1 AS one'), store.query('SELECT 2 AS two')])).toEqual([
    [{ one: 1 }],
    [{ two: 2 }],
  ]);
  expect(tries).toBe(2);
  await store.close();
  await server.close();
});

it('an unused store is closed without being opened', async () => {
  let tries = 0;
  const store = storeWhenAsked(async () => {
    tries += 1;
    throw new Error('expected no connection');
  });
  await store.close();
  expect(tries).toBe(0);
});
