import { shareOfText } from '../../base/share-of-text.ts';
import { defineTransformation, wrongSetting } from '../plugin.ts';
import { listSetting, textSetting } from '../setting-values.ts';

const byPerson = 'Distinct ID aware sampling';
const byEvent = 'Random sampling';

export const downsampling = defineTransformation({
  slug: 'downsampling',
  name: 'Downsampling',
  description: 'Keeps a share of the events, by person or by event, and drops the others.',
  alsoKnownAs: ['Downsampling Plugin', 'downsampling-plugin', 'plugin-downsampling-plugin', 'template-downsampling'],
  differences: [
    "Random sampling uses the event's uuid: an event that is sent or processed again gets the same decision.",
    'Random sampling keeps the exact share; the published one rounds, so that 0 still keeps some events.',
  ],
  fields: [
    {
      key: 'percentage',
      name: '% of events to keep',
      type: 'string',
      default: '100',
      hint: 'A number from 0 to 100.',
    },
    {
      key: 'samplingMethod',
      name: 'Sampling method',
      type: 'choice',
      choices: [byEvent, byPerson],
      default: byPerson,
      hint:
        'Distinct ID aware: all or none of the events of a distinct_id are kept, and kept ones stay when the percentage grows. ' +
        'Random: each event separately.',
    },
    {
      key: 'triggeringEvents',
      name: 'Only for these events',
      type: 'string',
      hint: 'Comma-separated event names; others are kept. Empty: all events.',
    },
  ],
  example: {
    settings: { percentage: '50' },
    before: { event: '$pageview', distinct_id: 'user-3', properties: {} },
    after: null,
  },
  create(settings) {
    const percentage = percentageOf(textSetting(settings, 'percentage', '100'));
    const random = textSetting(settings, 'samplingMethod', byPerson) === byEvent;
    const events = new Set(listSetting(settings, 'triggeringEvents'));
    const share = percentage / 100;
    if (random) {
      return (event) =>
        (events.size > 0 && !events.has(event.event)) || shareOfText(event.uuid) < share || share === 1 ? event : null;
    }
    return (event) =>
      (events.size > 0 && !events.has(event.event)) || shareOfText(event.distinct_id) <= share ? event : null;
  },
});

function percentageOf(text: string): number {
  const percentage = text.trim() === '' ? Number.NaN : Number(text.trim().replace(/%$/, ''));
  if (percentage >= 0 && percentage <= 100) return percentage;
  throw wrongSetting('percentage', 'expected a number from 0 to 100');
}
