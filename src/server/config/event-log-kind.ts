import type { Settings } from './settings.ts';

export type EventLogSettings = Pick<Settings, 'kafkaBrokers' | 'eventLog'>;

/** Where accepted events wait until they are stored. */
export function eventLogOf({ kafkaBrokers, eventLog }: EventLogSettings): 'files' | 'kafka' | 'postgres' {
  if (eventLog === 'postgres') return 'postgres';
  return kafkaBrokers === '' ? 'files' : 'kafka';
}

/** Whether other processes work on the same stores, which a shared event log implies. */
export function isCluster(settings: EventLogSettings): boolean {
  return eventLogOf(settings) !== 'files';
}
