import type { JsonObject } from '../../base/json.ts';
import { withDefaults } from '../check-settings.ts';
import type { SettingValues } from '../fields.ts';
import type { TransformationHost } from '../host.ts';
import type { TransformationPlugin, TransformEvent } from '../plugin.ts';
import { testEvent, testHost, type Before } from '../../../test/support/transformation-host.ts';

type After = Pick<TransformEvent, 'event' | 'distinct_id' | 'properties'> | null;

/** Runs one event through a transformation without look-ups as a worker does, with defaults. */
export function transform(
  plugin: TransformationPlugin,
  settings: SettingValues,
  before: Before,
  host: TransformationHost = testHost(),
): After {
  const run = plugin.create(withDefaults(plugin.fields, settings), host);
  if (typeof run !== 'function') throw new Error(`expected ${plugin.slug} to take one event at a time`);
  return shown(run(testEvent(before)));
}

/** Runs events through a batch transformation, as one batch. An Error is thrown. */
export async function transformBatch(
  plugin: TransformationPlugin,
  settings: SettingValues,
  before: readonly Before[],
  host: TransformationHost = testHost(),
): Promise<After[]> {
  const run = plugin.create(withDefaults(plugin.fields, settings), host);
  if (typeof run === 'function') throw new Error(`expected ${plugin.slug} to take batches`);
  const results = await run.batch(before.map(testEvent));
  return results.map((result) => {
    if (result instanceof Error) throw result;
    return shown(result);
  });
}

function shown(result: TransformEvent | null): After {
  return result && { event: result.event, distinct_id: result.distinct_id, properties: result.properties };
}

/** Returns the properties after the transformation; throws if the event was dropped. */
export function transformed(plugin: TransformationPlugin, settings: SettingValues, properties: JsonObject): JsonObject {
  const result = transform(plugin, settings, { properties });
  if (result === null) throw new Error('expected the event to be kept');
  return result.properties;
}

/** Parses JSON text to properties; object literals cannot contain an own `__proto__` key. */
export function parsed(json: string): JsonObject {
  return JSON.parse(json) as JsonObject;
}
