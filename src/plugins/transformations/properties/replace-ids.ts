import type { TransformEvent } from '../../plugin.ts';

/** Properties that contain a distinct_id, of this event or another: they must stay equal to the distinct_ids they refer to. */
export const idProperties = ['distinct_id', '$anon_distinct_id', 'alias', '$device_id', '$user_id'] as const;

/** Replaces the distinct_id, and with it the ids that refer to one, so that persons are still found and merged. */
export function replaceIds(event: TransformEvent, replace: (id: string) => string): void {
  const { properties } = event;
  for (const name of idProperties) {
    const id = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (typeof id === 'string' && id !== '') properties[name] = replace(id);
  }
  event.distinct_id = replace(event.distinct_id);
}
