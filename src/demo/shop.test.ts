import { describe, expect, it } from 'vitest';
import { dayMs, hourMs } from '../base/time.ts';
import { exportLines, shopEvents, type ShopEvent } from './shop.ts';

const endMs = Date.parse('2026-11-27T10:00:00Z');
const shop = shopEvents(endMs, 500);
const all = [...shop.history, ...shop.live];
const named = (name: string): readonly ShopEvent[] => all.filter(({ event }) => event === name);

describe('the demo shop', () => {
  it('is the same for the same arguments', () => {
    expect(shopEvents(endMs, 500)).toEqual(shop);
    expect(shopEvents(endMs, 50).history.length).toBeLessThan(shop.history.length / 5);
  });

  it('has about 20,000 events of one year, each with its own id', () => {
    expect(shop.history.length).toBeGreaterThan(17_000);
    expect(shop.history.length).toBeLessThan(23_000);
    const times = shop.history.map(({ timestamp }) => Date.parse(timestamp));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times[0]).toBeGreaterThanOrEqual(endMs - 365 * dayMs);
    expect(times.at(-1)).toBeLessThan(endMs - hourMs);
    expect(new Set(all.map(({ uuid }) => uuid)).size).toBe(all.length);
    for (const { timestamp } of shop.live) {
      expect(Date.parse(timestamp)).toBeGreaterThanOrEqual(endMs - hourMs);
      expect(Date.parse(timestamp)).toBeLessThanOrEqual(endMs);
    }
  });

  it('links anonymous visits to customers once, and customers to companies', () => {
    const identified = named('$identify');
    expect(new Set(identified.map(({ distinct_id: id }) => id)).size).toBe(identified.length);
    const ids = new Set(all.map(({ distinct_id: id }) => id));
    for (const { properties } of identified) expect(ids).toContain(properties['$anon_distinct_id']);
    expect(named('$groupidentify').length).toBeGreaterThan(50);
  });

  it('is busier on Fridays than on Saturdays, in December than in January, by day than by night', () => {
    const visits = (matches: (at: Date) => boolean): number =>
      all.filter(({ event, timestamp }) => event === '$pageview' && matches(new Date(timestamp))).length;
    expect(visits((at) => at.getUTCDay() === 5)).toBeGreaterThan(visits((at) => at.getUTCDay() === 6));
    expect(visits((at) => at.getUTCMonth() === 11)).toBeGreaterThan(visits((at) => at.getUTCMonth() === 0));
    expect(visits((at) => at.getUTCHours() >= 12)).toBeGreaterThan(visits((at) => at.getUTCHours() < 12));
  });

  it('takes orders of customers only, in three currencies', () => {
    const orders = named('Order Completed');
    expect(orders.length).toBeGreaterThan(500);
    for (const { distinct_id: id } of orders) expect(id).toMatch(/^customer-/);
    expect(new Set(orders.map(({ properties }) => properties['currency']))).toEqual(new Set(['EUR', 'GBP', 'USD']));
  });
});

it('the export of the demo shop has a few duplicate and a few invalid records', () => {
  const records = exportLines(shop.history)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ShopEvent);
  const isInvalid = ({ distinct_id: id, timestamp }: ShopEvent): boolean => id === '' || timestamp === 'yesterday';
  const valid = records.filter((record) => !isInvalid(record));
  expect(records.length - valid.length).toBeGreaterThan(5);
  expect(new Set(valid.map(({ uuid }) => uuid)).size).toBe(shop.history.length);
  expect(valid.length).toBeGreaterThan(shop.history.length + 10);
});
