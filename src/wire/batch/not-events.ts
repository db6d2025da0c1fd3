import type { WarningType } from '../contract/warnings.ts';

/**
 * What client libraries send in the form of an event without being one. None is stored, live or imported; each is counted as
 * the warning named here.
 */
const notEvents: Readonly<Record<string, WarningType>> = {
  $performance_event: 'performance_event_dropped',
  $$heatmap: 'heatmap_dropped',
  $$client_ingestion_warning: 'client_ingestion_warning',
};

export const notEventNames: readonly string[] = Object.keys(notEvents);

/** Returns the warning, or `undefined` if the name is that of an event. */
export function notEventWarning(name: string): WarningType | undefined {
  return Object.hasOwn(notEvents, name) ? notEvents[name] : undefined;
}
