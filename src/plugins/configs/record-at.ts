import { isoMicros } from '../../base/clock.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { PluginConfigRecord } from '../../wire/contract/plugin-configs.ts';
import type { Family } from '../../wire/contract/plugins.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { configActivityAt } from '../../stores/metadata/activity.ts';
import type { ConfigSnapshot } from './save-changes.ts';

const isoTime = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/i;

/** Returns the record at a past time; `undefined` before it existed and after it was deleted. Throws ApiError on `at`. */
export async function recordAt(
  db: Queries,
  of: { readonly projectId: number; readonly family: Family; readonly id: number; readonly at: string },
): Promise<PluginConfigRecord | undefined> {
  const at = isoMicros(parseTime(of.at));
  const entry = await configActivityAt(db, { projectId: of.projectId, configId: of.id, at });
  if (entry === undefined || entry.activity === 'deleted') return undefined;
  const snapshot = entry.snapshot as Partial<ConfigSnapshot>;
  return snapshot.family === of.family ? snapshot.record : undefined;
}

/** Returns ms since the epoch; times without a zone are UTC, as everywhere in the API. */
function parseTime(text: string): number {
  // In a query string a bare `+` means a space: 10:00:00+02:00 arrives with one.
  const sent = text.trim().replace(/ (?=\d\d:?\d\d$)/, (space, at: number) => (at > 10 ? '+' : space));
  const zoned = /(Z|[+-]\d\d:?\d\d)$/i.test(sent.slice(10)) || sent.length === 10 ? sent : `${sent}Z`;
  const ms = isoTime.test(sent) ? Date.parse(zoned.replace(' ', 'T').replace(',', '.')) : Number.NaN;
  if (Number.isFinite(ms)) return ms;
  throw new ApiError('invalid_input', `Expected an ISO 8601 time such as 2026-01-31T12:00:00Z, got: "${text}".`, {
    attr: 'at',
  });
}
