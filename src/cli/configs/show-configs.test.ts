import { expect, it } from 'vitest';
import type { PluginConfigRecord } from '../../wire/contract/plugin-configs.ts';
import type { Terminal } from '../terminal.ts';
import { showConfigs } from './show-configs.ts';

/** What stands below DELIVERED 24 H. */
function delivered(rate: string): string | undefined {
  const rows: (readonly string[])[] = [];
  const terminal = {
    table: (headings: readonly string[], cells: readonly (readonly string[])[]) => void rows.push(headings, ...cells),
  };
  const record = { order: 0, id: 1, name: 'Plan tier', enabled: true, error: '', delivery_rate_24h: rate };
  showConfigs(terminal as unknown as Terminal, [record as unknown as PluginConfigRecord]);
  return rows[1]?.[rows[0]?.indexOf('DELIVERED 24 H') ?? -1];
}

it.each([
  ['1', '100 %'],
  ['0.9975', '99.75 %'],
  ['0', '0 %'],
  ['', '-'],
])('what a transformation has delivered of its events is a share: %s is %s', (rate, text) => {
  expect(delivered(rate)).toBe(text);
});
