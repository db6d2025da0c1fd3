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

/** How records come into an import. */
export interface DirtyForm {
  readonly format: string;
  readonly make: MakeRecords;
  readonly formatOptions: Readonly<Record<string, string>>;
  /** Lines of text between which there is no JSON. */
  readonly isText: boolean;
  /** The first line of each file of a CSV table. */
  readonly heading?: string;
}

type Form = Pick<DirtyForm, 'make'> & Partial<DirtyForm>;

/** Of times that the source writes without their zone. */
const zone = 'America/New_York';
const inZone = { formatOptions: { time_zone: zone } };

/** By format, or by one of its forms. */
const forms: Readonly<Record<string, Form>> = {
  'adobe-analytics': { make: adobeRecords, formatOptions: adobeOptions, isText: true },
  'adobe-analytics-narrow': {
    format: 'adobe-analytics',
    make: adobeNarrowRecords,
    formatOptions: adobeNarrowOptions,
    isText: true,
  },
  amplitude: { make: amplitudeRecords },
  ga4: { make: ga4Records },
  heap: { make: heapRecords() },
  'heap-zone': { format: 'heap', make: heapRecords(zone), ...inZone },
  june: { make: juneRecords() },
  'june-zone': { format: 'june', make: juneRecords(zone), ...inZone },
  mapping: { make: mappingRecords, formatOptions: { mapping: mappingRules } },
  'mapping-csv': {
    format: 'mapping',
    make: mappingTable,
    formatOptions: { mapping: mappingTableRules },
    heading: mappingColumns.join(','),
  },
  matomo: { make: matomoRecords() },
  'matomo-zone': { format: 'matomo', make: matomoRecords(zone), ...inZone },
  mixpanel: { make: mixpanelRecords() },
  'mixpanel-zone': { format: 'mixpanel', make: mixpanelRecords(zone), ...inZone },
  mparticle: { make: mparticleRecords },
  pendo: { make: pendoRecords },
  plausible: { make: plausibleRecords, formatOptions: plausibleOptions },
  posthog: { make: posthogRecords() },
  'posthog-zone': { format: 'posthog', make: posthogRecords(zone), ...inZone },
  segment: { make: segmentRecords },
  snowplow: { make: snowplowRows },
  'snowplow-lines': { format: 'snowplow', make: snowplowLines, isText: true },
  statsig: { make: statsigRecords() },
  'statsig-zone': { format: 'statsig', make: statsigRecords(zone), ...inZone },
};

export const formNames: readonly string[] = Object.keys(forms);

/** `name`: one of `formNames`. */
export function formOf(name: string): DirtyForm {
  const form = forms[name];
  if (form === undefined) throw new Error(`expected one of ${formNames.join(', ')}, got: ${name}`);
  return { format: name, formatOptions: {}, isText: false, ...form };
}

/** One text for each event, which is what is compared. */
export function textOf({ event, distinctId, ms, probe }: Omit<ExpectedEvent, 'identity'>): string {
  return [event, distinctId, ms, probe].join('\u0001');
}

/** Finds the JSON of the property `probe` in that of an event; the same for JavaScript and RE2. */
export const probePattern: string = '"probe":("(?:[^"\\\\]|\\\\.)*"|-?[0-9.]+|\\[\\]|\\{"deep":[^}]*\\}\\]\\}\\})';
