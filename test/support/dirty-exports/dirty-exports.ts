import { adobeNarrowOptions, adobeNarrowRecords, adobeOptions, adobeRecords } from './adobe-analytics.ts';
import { amplitudeRecords } from './amplitude.ts';
import type { ExpectedEvent, MakeRecords } from './dirty-record.ts';
import { ga4Records } from './ga4.ts';
import { heapRecords } from './heap.ts';
import { juneRecords } from './june.ts';
import { mappingColumns, mappingRecords, mappingRules, mappingTable, mappingTableRules } from './mapping.ts';
import { matomoRecords } from './matomo.ts';
import { mixpanelRecords } from './mixpanel.ts';
import { mparticleRecords } from './mparticle.ts';
import { pendoRecords } from './pendo.ts';
import { plausibleOptions, plausibleRecords } from './plausible.ts';
import { posthogRecords } from './posthog.ts';
import { segmentRecords } from './segment.ts';
import { snowplowLines, snowplowRows } from './snowplow.ts';
import { statsigRecords } from './statsig.ts';

/** By format, or by one of its forms. */
export const dirtyFormats: Readonly<Record<string, MakeRecords>> = {
  'adobe-analytics': adobeRecords,
  'adobe-analytics-narrow': adobeNarrowRecords,
  amplitude: amplitudeRecords,
  ga4: ga4Records,
  heap: heapRecords,
  june: juneRecords,
  mapping: mappingRecords,
  'mapping-csv': mappingTable,
  matomo: matomoRecords,
  mixpanel: mixpanelRecords,
  mparticle: mparticleRecords,
  pendo: pendoRecords,
  plausible: plausibleRecords,
  posthog: posthogRecords,
  segment: segmentRecords,
  snowplow: snowplowRows,
  'snowplow-lines': snowplowLines,
  statsig: statsigRecords,
};

/** How records come into an import. */
export interface DirtyForm {
  readonly format: string;
  readonly formatOptions: Readonly<Record<string, string>>;
  /** Lines of text between which there is no JSON. */
  readonly isText: boolean;
  /** The first line of each file of a CSV table. */
  readonly heading?: string;
}

const forms: Readonly<Record<string, Partial<DirtyForm>>> = {
  'adobe-analytics': { formatOptions: adobeOptions, isText: true },
  'adobe-analytics-narrow': { format: 'adobe-analytics', formatOptions: adobeNarrowOptions, isText: true },
  mapping: { formatOptions: { mapping: mappingRules } },
  'mapping-csv': {
    format: 'mapping',
    formatOptions: { mapping: mappingTableRules },
    heading: mappingColumns.join(','),
  },
  plausible: { formatOptions: plausibleOptions },
  'snowplow-lines': { format: 'snowplow', isText: true },
};

/** `name`: of `dirtyFormats`. */
export function formOf(name: string): DirtyForm {
  return { format: name, formatOptions: {}, isText: false, ...forms[name] };
}

/** One text for each event, which is what is compared. */
export function textOf({ event, distinctId, ms, probe }: Omit<ExpectedEvent, 'identity'>): string {
  return [event, distinctId, ms, probe].join('\u0001');
}

/** Finds the JSON of the property `probe` in that of an event; the same for JavaScript and RE2. */
export const probePattern: string = '"probe":("(?:[^"\\\\]|\\\\.)*"|-?[0-9.]+|\\[\\]|\\{"deep":[^}]*\\}\\]\\}\\})';
