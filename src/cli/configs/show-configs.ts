import type { JsonValue } from '../../base/json.ts';
import type { PluginConfigRecord } from '../../wire/contract/plugin-configs.ts';
import { showFields, showRecord, showTable, type OutputOptions } from '../output.ts';
import type { Terminal } from '../terminal.ts';

export function showConfigs(
  terminal: Terminal,
  records: readonly (PluginConfigRecord & { readonly family?: string })[],
): void {
  const withFamily = records.some(({ family }) => family !== undefined);
  showTable(terminal, records, {
    ...(withFamily && { FAMILY: ({ family }: { readonly family?: string }) => family ?? '-' }),
    ORDER: ({ order }) => String(order),
    ID: ({ id }) => String(id),
    NAME: ({ name }) => name,
    ENABLED: ({ enabled }) => (enabled ? 'yes' : 'no'),
    'DELIVERED 24 H': (record) => rateText(record),
    ERROR: ({ error }) => error || '-',
  });
}

export function showConfig(terminal: Terminal, options: OutputOptions, record: PluginConfigRecord): Promise<void> {
  return showRecord(terminal, options, record, () => showConfigs(terminal, [record]));
}

/** Every field and setting of one config; secrets come masked. */
export function showWholeConfig(terminal: Terminal, record: PluginConfigRecord): void {
  const settings = JSON.parse(record.config) as Readonly<Record<string, JsonValue>>;
  showFields(terminal, {
    id: String(record.id),
    name: record.name,
    description: record.description,
    plugin: String(record.plugin),
    enabled: record.enabled ? 'yes' : 'no',
    deleted: record.deleted ? 'yes, in the bin' : 'no',
    order: String(record.order),
    'delivered 24 h': rateText(record),
    error: record.error || '-',
    created: record.created_at,
    updated: record.updated_at,
    ...Object.fromEntries(Object.entries(settings).map(([key, value]) => [`settings.${key}`, textOf(value)])),
  });
}

/** A share, as the API gives it: `0.9975` is 99.75 %. */
function rateText({ delivery_rate_24h: rate }: Pick<PluginConfigRecord, 'delivery_rate_24h'>): string {
  return rate === '' ? '-' : `${Number((Number(rate) * 100).toFixed(2))} %`;
}

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
