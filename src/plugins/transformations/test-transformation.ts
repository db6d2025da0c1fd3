import type { SettingValues } from '../fields.ts';
import type { JsonObject, TransformationPlugin, TransformEvent } from '../plugin.ts';
import { withDefaults } from '../check-settings.ts';

type Before = Partial<Pick<TransformEvent, 'event' | 'distinct_id' | 'properties'>>;
type After = Pick<TransformEvent, 'event' | 'distinct_id' | 'properties'> | null;

/** Runs one event through a transformation as a worker does: defaults filled in, a fresh copy of the event. */
export function transform(plugin: TransformationPlugin, settings: SettingValues, before: Before): After {
  const run = plugin.create(withDefaults(plugin.fields, settings));
  const event: TransformEvent = {
    uuid: '01900000-0000-7000-8000-000000000000',
    event: 'tested',
    distinct_id: 'u1',
    team_id: 1,
    timestamp: '2026-01-01T00:00:00.000Z',
    ...(JSON.parse(JSON.stringify(before)) as Before),
    properties: JSON.parse(JSON.stringify(before.properties ?? {})) as JsonObject,
  };
  const result = run(event);
  return result && { event: result.event, distinct_id: result.distinct_id, properties: result.properties };
}

/** The properties after the transformation; throws when the event was dropped. */
export function transformed(plugin: TransformationPlugin, settings: SettingValues, properties: JsonObject): JsonObject {
  const result = transform(plugin, settings, { properties });
  if (result === null) throw new Error('expected the event to be kept');
  return result.properties;
}

/** JSON text → properties; object literals cannot hold a `__proto__` key of their own. */
export function parsed(json: string): JsonObject {
  return JSON.parse(json) as JsonObject;
}
