import { describe, expect, it } from 'vitest';
import type { OutboundFetch, OutboundRequest } from '../outbound/outbound.ts';
import type { JsonObject } from '../../base/json.ts';
import { withDefaults } from '../check-settings.ts';
import { currency } from './currency.ts';
import { testHost, testEvent } from '../../../test/support/transformation-host.ts';
import { transformBatch } from './transformation.fixture.ts';

const fixed = { rates: { USD: 1, EUR: 0.8, JPY: 150.123 }, normalizedCurrency: 'EUR' };
const fetched = { openExchangeRatesApiKey: 'secret-key', normalizedCurrency: 'EUR' };
const day = 86_400_000;

async function converted(properties: JsonObject, settings = {}): Promise<JsonObject | undefined> {
  const [result] = await transformBatch(currency, { ...fixed, ...settings }, [{ properties }]);
  return result?.properties;
}

/** openexchangerates.org as it answers, with a clock that the test moves. */
function exchange(answer: () => { status: number; body: string }) {
  const requests: OutboundRequest[] = [];
  let time = Date.UTC(2026, 10, 20);
  const fetch: OutboundFetch = async (request) => {
    requests.push(request);
    const { status, body } = answer();
    return { status, statusText: '', headers: {}, body: new TextEncoder().encode(body), url: request.url };
  };
  const host = testHost({ fetch, now: () => time });
  const pass = (ms: number): void => void (time += ms);
  return { requests, host, pass };
}

function runner(host = testHost()) {
  const run = currency.create(withDefaults(currency.fields, fetched), host);
  if (typeof run === 'function') throw new Error('expected batches');
  return async (): Promise<unknown> => {
    const [result] = await run.batch([testEvent({ properties: { amount: 10, currency: 'USD' } })]);
    return result instanceof Error ? result.message : result?.properties['normalized_amount'];
  };
}

describe('Currency normalization', () => {
  it('does what its example shows', async () => {
    const { settings, before, after } = currency.example;
    expect(await transformBatch(currency, settings, [before])).toEqual([after]);
  });

  it.each<[JsonObject, number]>([
    [{ amount: 10, currency: 'EUR' }, 10],
    [{ amount: '12.5', currency: 'usd' }, 10],
    [{ amount: 1000, currency: 'JPY' }, 5.329],
    [{ amount: -3, currency: 'USD' }, -2.4],
    [{ amount: 0, currency: 'USD' }, 0],
  ])('%j → %d', async (properties, amount) => {
    expect(await converted(properties)).toEqual({
      ...properties,
      normalized_amount: amount,
      normalized_currency: 'EUR',
    });
  });

  it.each<JsonObject>([
    { amount: 10 },
    { currency: 'USD' },
    { amount: null, currency: 'USD' },
    { amount: '', currency: 'USD' },
    { amount: 'ten', currency: 'USD' },
    { amount: 10, currency: 'XYZ' },
    { amount: 10, currency: 'constructor' },
    { amount: 10, currency: 5 },
  ])('does not change %j', async (properties) => {
    expect(await converted(properties)).toEqual(properties);
  });

  it('reads and writes other properties, including nested ones', async () => {
    const settings = { amountProperty: 'price.value', currencyProperty: 'price.unit', normalizedAmountProperty: 'eur' };
    const properties = { price: { value: 5, unit: 'USD' } };
    expect(await converted(properties, settings)).toEqual({ ...properties, eur: 4, normalized_currency: 'EUR' });
  });

  it('fetches rates once a day, with the key in a header, and only when there is an amount', async () => {
    const { requests, host, pass } = exchange(() => ({ status: 200, body: '{"rates": {"USD": 1, "EUR": 0.5}}' }));
    expect(await transformBatch(currency, fetched, [{ properties: {} }], host)).toHaveLength(1);
    expect(requests).toEqual([]);
    const run = runner(host);
    expect([await run(), await run()]).toEqual([5, 5]);
    pass(day - 1);
    await run();
    expect(requests).toEqual([
      { url: 'https://openexchangerates.org/api/latest.json', headers: { authorization: 'Token secret-key' } },
    ]);
    pass(1);
    await run();
    expect(requests).toHaveLength(2);
  });

  it('another config of the project finds the rates in the cache', async () => {
    const { requests, host } = exchange(() => ({ status: 200, body: '{"rates": {"USD": 1, "EUR": 0.5}}' }));
    await runner(host)();
    expect(await runner(host)()).toBe(5);
    expect(requests).toHaveLength(1);
  });

  it.each([
    [{ status: 401, body: '{}' }, 'it responded 401'],
    [{ status: 200, body: '{"rates": {"USD": "one"}}' }, 'the response contains none'],
    [{ status: 200, body: 'secret-key is not JSON' }, 'returned no rates'],
  ])(
    '%j: the event fails with the reason but without the key, and the next try is a minute later',
    async (answer, why) => {
      const { requests, host, pass } = exchange(() => answer);
      const run = runner(host);
      const message = String(await run());
      expect(message).toContain(why);
      expect(message).not.toContain('secret-key');
      pass(59_999);
      await run();
      expect(requests).toHaveLength(1);
      pass(1);
      await run();
      expect(requests).toHaveLength(2);
    },
  );

  it('an event without an amount does not fail when there are no rates', async () => {
    const { host } = exchange(() => ({ status: 500, body: '' }));
    const run = currency.create(withDefaults(currency.fields, fetched), host);
    if (typeof run === 'function') throw new Error('expected batches');
    const results = await run.batch([testEvent({}), testEvent({ properties: { amount: 1, currency: 'USD' } })]);
    expect(results.map((result) => result instanceof Error)).toEqual([false, true]);
  });

  it('older rates are used while new ones are unavailable', async () => {
    let status = 200;
    const { host, pass } = exchange(() => ({ status, body: '{"rates": {"USD": 1, "EUR": 0.5}}' }));
    const run = runner(host);
    await run();
    status = 500;
    pass(3 * day);
    expect(await run()).toBe(5);
  });

  it.each([
    [{}, 'openExchangeRatesApiKey'],
    [{ rates: { USD: 1 } }, 'no rate for "EUR"'],
    [{ rates: { EUR: 0 } }, 'setting "rates"'],
    [{ rates: [] }, 'setting "rates"'],
    [{ normalizedCurrency: ' ', rates: { EUR: 1 } }, 'setting "normalizedCurrency"'],
  ])('refuses %j', (settings, message) => {
    expect(() => currency.create({ normalizedCurrency: 'EUR', ...settings }, testHost())).toThrow(message);
  });
});
