import { yesNo } from '../fields.ts';
import type { PluginStorage } from '../host.ts';
import { defineTransformation, wrongSetting, type TransformEvent } from '../plugin.ts';
import type { JsonValue } from '../../base/json.ts';
import { setOwn } from '../property-path.ts';
import { textSetting, yesSetting } from '../setting-values.ts';

export const sequenceTimer = defineTransformation({
  slug: 'sequence-timer',
  name: 'Event sequence timer',
  description:
    'Adds the milliseconds between two events of a person as a property time_since_ with the name of the first.',
  alsoKnownAs: ['Event Sequence Timer Plugin', 'event-sequence-timer-plugin'],
  differences: [
    'The published one also writes the property working = "working" to every event; this one does not.',
    'A pair of an event with itself gives the time since the previous one; in the published one it is always 0.',
    'An event named like an object member (constructor) stays unchanged; the published one fails on it.',
    'Spaces around names and pairs are ignored.',
  ],
  fields: [
    {
      key: 'eventsToTrack',
      name: 'Pairs of events',
      type: 'string',
      required: true,
      hint: '(first,second),(first,second): the second gets the time since the first of the same person.',
    },
    {
      key: 'updateTimestamp',
      name: 'Restart with every first event',
      ...yesNo('Yes'),
      hint: 'Yes: time since the latest first event. No: since the earliest that arrived.',
    },
  ],
  example: {
    settings: { eventsToTrack: '(signed up,paid)' },
    before: { event: 'signed up', properties: {} },
    after: { properties: {} },
  },
  create(settings, { storage }) {
    const { firsts, bySecond } = readPairs(textSetting(settings, 'eventsToTrack'));
    const restarts = yesSetting(settings, 'updateTimestamp', 'Yes');
    const firstsOf = (event: TransformEvent): readonly string[] => bySecond.get(event.event) ?? [];
    return {
      async batch(events) {
        const concerned = events.filter((event) => firsts.has(event.event) || bySecond.has(event.event));
        if (concerned.length === 0) return events;
        const times = await readTimes(storage, concerned, firstsOf);
        for (const event of concerned) {
          const time = Date.parse(event.timestamp);
          if (Number.isNaN(time)) continue;
          for (const first of firstsOf(event)) {
            const since = times.get(keyOf(first, event.distinct_id));
            if (since !== undefined) setOwn(event.properties, propertyOf(first), time - Number(since));
          }
          const key = keyOf(event.event, event.distinct_id);
          if (!firsts.has(event.event) || (!restarts && times.has(key))) continue;
          times.set(key, time);
          await storage.set(key, time);
        }
        return events;
      },
    };
  },
});

/** Returns the stored times for the events of a batch, to which the batch adds its own. */
async function readTimes(
  storage: PluginStorage,
  events: readonly TransformEvent[],
  firstsOf: (event: TransformEvent) => readonly string[],
): Promise<Map<string, JsonValue>> {
  const names = (event: TransformEvent): readonly string[] => [event.event, ...firstsOf(event)];
  const keys = events.flatMap((event) => names(event).map((name) => keyOf(name, event.distinct_id)));
  return new Map(await storage.getMany([...new Set(keys)]));
}

function keyOf(event: string, distinctId: string): string {
  return JSON.stringify([event, distinctId]);
}

/** The published form: only the first space becomes an underscore. */
function propertyOf(first: string): string {
  return `time_since_${first.replace(' ', '_')}`;
}

interface Pairs {
  readonly firsts: ReadonlySet<string>;
  readonly bySecond: ReadonlyMap<string, readonly string[]>;
}

function readPairs(text: string): Pairs {
  const firsts = new Set<string>();
  const bySecond = new Map<string, string[]>();
  let rest = text.trim();
  while (rest !== '') {
    const found = /^\(([^(),]+),([^(),]+)\)\s*(?:,\s*(?=\()|$)/.exec(rest);
    const first = found?.[1]?.trim() ?? '';
    const second = found?.[2]?.trim() ?? '';
    if (found === null || first === '' || second === '') {
      throw wrongSetting('eventsToTrack', 'expected pairs such as (signed up,paid),(opened,closed)');
    }
    firsts.add(first);
    const others = bySecond.get(second) ?? [];
    if (!others.includes(first)) others.push(first);
    bySecond.set(second, others);
    rest = rest.slice(found[0].length);
  }
  if (firsts.size === 0) throw wrongSetting('eventsToTrack', 'expected at least one pair of events');
  return { firsts, bySecond };
}
