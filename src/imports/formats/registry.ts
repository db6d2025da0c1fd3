import type { Format } from './format.ts';
import { withEnvelopes } from './with-envelopes.ts';
import { adobeAnalytics } from './adobe-analytics/adobe-analytics.ts';
import { amplitude } from './amplitude/amplitude.ts';
import { ga4 } from './ga4/ga4.ts';
import { heap } from './heap/heap.ts';
import { june } from './june/june.ts';
import { mapping } from './mapping/mapping.ts';
import { matomo } from './matomo/matomo.ts';
import { millrace } from './millrace/millrace.ts';
import { mixpanel } from './mixpanel/mixpanel.ts';
import { mparticle } from './mparticle/mparticle.ts';
import { pendo } from './pendo/pendo.ts';
import { plausible } from './plausible/plausible.ts';
import { posthog } from './posthog/posthog.ts';
import { segment } from './segment/segment.ts';
import { snowplow } from './snowplow/snowplow.ts';
import { statsig } from './statsig/statsig.ts';

/** All formats, by slug. */
export const formats: readonly Format[] = [
  adobeAnalytics,
  amplitude,
  ga4,
  heap,
  june,
  mapping,
  matomo,
  millrace,
  mixpanel,
  mparticle,
  pendo,
  plausible,
  posthog,
  segment,
  snowplow,
  statsig,
].map(withEnvelopes);

export function findFormat(slug: string): Format | undefined {
  return formats.find((format) => format.slug === slug);
}
