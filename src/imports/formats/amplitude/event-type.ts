import type { Properties } from '../read-values.ts';

/** Automatic events keep what happened to the element. */
export function addEventType(name: string, event: string, properties: Properties): void {
  if (event !== '$autocapture') return;
  properties['$event_type'] ??= name.endsWith('Changed') ? 'change' : 'click';
}
