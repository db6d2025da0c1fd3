import { defineTransformation, wrongSetting } from '../plugin.ts';
import { listSetting } from '../setting-values.ts';

export const firstTimeEvents = defineTransformation({
  slug: 'first-time-events',
  name: 'First time event tracker',
  description: 'Marks the first event of each name, overall and per person.',
  alsoKnownAs: ['First Time Event Tracker', 'first-time-event-tracker'],
  differences: ['Spaces around event names are ignored; names with an underscore are never confused.'],
  fields: [
    {
      key: 'events',
      name: 'Events to track',
      type: 'string',
      required: true,
      hint: 'Comma-separated names. Only events that arrive from now on count; older ones are not considered.',
    },
  ],
  example: {
    settings: { events: 'signed up, paid' },
    before: { event: 'paid', properties: { amount: 5 } },
    after: { properties: { amount: 5, is_first_event_ever: true, is_first_event_for_user: true } },
  },
  create(settings, { storage }) {
    const tracked = new Set(listSetting(settings, 'events'));
    if (tracked.size === 0) throw wrongSetting('events', 'expected at least one event name');
    return {
      async batch(events) {
        const concerned = events.filter((event) => tracked.has(event.event));
        if (concerned.length === 0) return events;
        const seen = new Set((await storage.getMany([...new Set(concerned.flatMap((event) => keysOf(event)))])).keys());
        for (const event of concerned) {
          const [ever, forUser] = keysOf(event);
          event.properties['is_first_event_ever'] = !seen.has(ever);
          event.properties['is_first_event_for_user'] = !seen.has(forUser);
          for (const key of [ever, forUser]) {
            if (seen.has(key)) continue;
            seen.add(key);
            await storage.set(key, true);
          }
        }
        return events;
      },
    };
  },
});

function keysOf({ event, distinct_id }: { readonly event: string; readonly distinct_id: string }): [string, string] {
  return [JSON.stringify([event]), JSON.stringify([event, distinct_id])];
}
