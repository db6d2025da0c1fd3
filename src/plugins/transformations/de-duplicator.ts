import { hash } from 'node:crypto';
import { defineTransformation, type TransformEvent } from '../plugin.ts';
import type { JsonObject } from '../../base/json.ts';
import { listSetting, textSetting } from '../setting-values.ts';

const allProperties = 'All Properties';

/** Part of the hashed text, so that events get the same uuid as from the published plugin. */
const namespace = '6ba7b812-9dad-11d1-80b4-00c04fd430c8';
const markers = ['$plugins_succeeded', '$plugins_failed', '$plugins_deferred'] as const;

export const deDuplicator = defineTransformation({
  slug: 'de-duplicator',
  name: 'De-duplicator',
  description: 'Gives equal events one uuid, so that an event that is sent twice without a uuid is stored once.',
  alsoKnownAs: ['Unduplicates', 'Unduplicator', 'posthog-app-unduplicates', 'posthog-app-unduplicator'],
  differences: [
    'Markers of transformations (such as $plugins_succeeded) do not count as properties.',
    'Events of libraries that set uuids stay unchanged, by a setting; the published one skips events without a time.',
  ],
  fields: [
    {
      key: 'dedupMode',
      name: 'What makes two events the same',
      type: 'choice',
      required: true,
      choices: ['Event and Timestamp', allProperties],
      default: 'Event and Timestamp',
      hint: 'Always project, person, name and time; All Properties: also every property.',
    },
    {
      key: 'skipLibs',
      name: 'Not for these libraries',
      type: 'string',
      default: 'web, posthog-node, posthog-python, posthog-ios, posthog-android',
      hint:
        'Comma-separated values of $lib. Libraries that set a uuid for each event and send their own clock need no ' +
        'deduplication; the time of such an event is corrected each time it is sent.',
    },
  ],
  example: {
    settings: {},
    before: { event: 'paid', properties: { amount: 5 } },
    after: { properties: { amount: 5 } },
  },
  create(settings) {
    const withProperties = textSetting(settings, 'dedupMode') === allProperties;
    const skipped = new Set(listSetting(settings, 'skipLibs'));
    return (event) => {
      const lib = Object.hasOwn(event.properties, '$lib') ? event.properties['$lib'] : undefined;
      if (typeof lib === 'string' && skipped.has(lib)) return event;
      event.uuid = uuidOf(event, withProperties ? `_${JSON.stringify(unmarked(event.properties))}` : '');
      return event;
    };
  },
});

function uuidOf({ team_id, distinct_id, event, timestamp }: TransformEvent, properties: string): string {
  const digest = hash('sha1', `${namespace}_${team_id}_${distinct_id}_${event}_${timestamp}${properties}`, 'hex');
  // Version 5, variant 1, as in RFC 9562.
  const variant = ((Number.parseInt(digest.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  const third = `5${digest.slice(13, 16)}`;
  const fourth = `${variant}${digest.slice(17, 20)}`;
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-${third}-${fourth}-${digest.slice(20, 32)}`;
}

function unmarked(properties: JsonObject): JsonObject {
  if (!markers.some((key) => Object.hasOwn(properties, key))) return properties;
  const copy = { ...properties };
  for (const key of markers) delete copy[key];
  return copy;
}
