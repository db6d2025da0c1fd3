import { amplitudeRecords } from './amplitude.ts';
import type { ExpectedEvent, MakeRecords } from './dirty-record.ts';
import { matomoRecords } from './matomo.ts';
import { mixpanelRecords } from './mixpanel.ts';
import { segmentRecords } from './segment.ts';

/** By format. */
export const dirtyFormats: Readonly<Record<string, MakeRecords>> = {
  amplitude: amplitudeRecords,
  matomo: matomoRecords,
  mixpanel: mixpanelRecords,
  segment: segmentRecords,
};

/** One text for each event, which is what is compared. */
export function textOf({ event, distinctId, ms, probe }: Omit<ExpectedEvent, 'identity'>): string {
  return [event, distinctId, ms, probe].join('\u0001');
}

/** Finds the JSON of the property `probe` in that of an event; the same for JavaScript and RE2. */
export const probePattern: string = '"probe":("(?:[^"\\\\]|\\\\.)*"|-?[0-9.]+|\\[\\]|\\{"deep":[^}]*\\}\\]\\}\\})';
