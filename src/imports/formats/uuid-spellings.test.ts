import { describe, expect, it } from 'vitest';
import { checkWithBoth } from '../../../test/support/compare-executors.ts';
import type { Format, FormatOptions } from './format.ts';
import { amplitude } from './amplitude/amplitude.ts';
import { heap } from './heap/heap.ts';
import { june } from './june/june.ts';
import { mapping } from './mapping/mapping.ts';
import { posthog } from './posthog/posthog.ts';
import { snowplow } from './snowplow/snowplow.ts';
import { statsig } from './statsig/statsig.ts';

const uuid = '0198a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b';
const digits = uuid.replaceAll('-', '');
const spellings = [uuid, uuid.toUpperCase(), digits, digits.toUpperCase(), `{${uuid}}`, `{${digits}}`]
  .concat([`urn:uuid:${uuid}`, `URN:UUID:${digits}`, ` ${digits}  `, `  ${digits}  `, `${digits}\u00a0`, `${uuid}\n`])
  // With an escape in its JSON.
  .concat([`\t${uuid}`, `\u2003${digits}`]);

const time = '2024-05-01T10:20:30Z';
const cases: readonly (readonly [string, Format, (uuid: string) => object, FormatOptions])[] = [
  ['posthog', posthog, (id) => ({ uuid: id, event: 'x', distinct_id: 'd', timestamp: time, properties: {} }), {}],
  [
    'amplitude',
    amplitude,
    (id) => ({ uuid: id, event_type: 'x', user_id: 'd', event_time: '2024-05-01 10:20:30' }),
    {},
  ],
  [
    'mapping',
    mapping,
    (id) => ({ id, e: 'x', u: 'd', t: time }),
    { mapping: JSON.stringify({ event: 'e', distinct_id: 'u', timestamp: 't', uuid: 'id' }) },
  ],
  [
    'mapping with a template',
    mapping,
    (id) => ({ a: id.slice(0, 9), b: id.slice(9), e: 'x', u: 'd', t: time }),
    { mapping: JSON.stringify({ event: 'e', distinct_id: 'u', timestamp: 't', uuid: '{a}{b}' }) },
  ],
  [
    'snowplow',
    snowplow,
    (id) => ({ event: 'x', event_id: id, user_id: 'd', collector_tstamp: '2024-05-01 10:20:30' }),
    {},
  ],
  ['statsig', statsig, (id) => ({ name: 'x', id, userID: 'd', timestamp: Date.parse(time) }), {}],
  ['june', june, (id) => ({ event: 'x', type: 'track', message_id: id, user_id: 'd', timestamp: time }), {}],
  ['heap', heap, (id) => ({ event_table_name: 'x', event_id: id, user_id: 'd', time }), {}],
];

describe('the uuid of a record', () => {
  it.each(cases)('%s: is the same in every spelling', async (_name, format, recordOf, formatOptions) => {
    const lines = spellings.map((each) => `${JSON.stringify(recordOf(each))}\n`);
    const { fast, reader } = await checkWithBoth(format, [Buffer.from(lines.join(''))], { formatOptions });
    expect(fast).toEqual(reader);
    const found = fast.events.map(([uuid]) => uuid);
    expect(found).toEqual(spellings.map(() => uuid));
  });
});
