import type { Draw } from '../draw.ts';
import { deep, drawProbe, eventNames, nobodies } from './dirt.ts';
import { rejected, type DirtyRecord, type ExpectedEvent, type MakeRecords } from './dirty-record.ts';
import { drawMoment, idText, momentOf, withValue, type Moment } from './json-dirt.ts';
import { drawWho } from './people.ts';
import { withRepeats } from './repeats.ts';

/** Batches, a line each. */
export const mparticleRecords: MakeRecords = withRepeats((draw, n) => {
  const good = batch(draw, n);
  if (draw.chance(0.95)) return good;
  const { text } = good;
  switch (draw.int(6)) {
    case 0:
      return { text: text.slice(0, draw.int(text.length - 2) + 1), expected: rejected };
    case 1:
      return {
        text: withValue(text, 'timestamp_unixtime_ms', draw.pick(['null', '0', '1672531200'])),
        expected: rejected,
      };
    case 2:
      // One that cannot be read costs all of them.
      return { text: text.replace('"event_type":', '"kind":'), expected: rejected };
    case 3:
      return { text: text.replace('{', `{"deep":${deep(500 + draw.int(5000))},`), expected: rejected };
    case 4:
      return { text: text.replace(/"events":.*/s, '"events":[]}'), expected: { is: 'skipped' } };
    default:
      return { text: ['identity', 'mpid', 'device_application_stamp'].reduce(withoutValue, text), expected: rejected };
  }
});

const withoutValue = (text: string, member: string): string => withValue(text, member, 'null');

function batch(draw: Draw, n: number): DirtyRecord {
  const { user, device, stored } = drawWho(draw);
  const isPlaceholderId = draw.chance(0.01);
  const known = isPlaceholderId ? undefined : user;
  const number = Number(device.slice('d-'.length));
  const hasMpid = draw.chance(0.9);
  const mpid = `600467778066078${1000 + number}`;
  const id = hasMpid ? mpid : device;
  const moments = [drawMoment(draw)];
  for (let more = draw.int(3); more > 0; more -= 1)
    moments.push(momentOf(draw, (moments.at(-1)?.ms ?? 0) + draw.int(90_000)));
  const distinctId = stored(known ?? id);
  const items = moments.map((time, place) => item(draw, { n, place, time, distinctId }));
  const [first, ...others] = items.flatMap(({ event }) => event ?? []);
  const identity = idText(draw, isPlaceholderId ? draw.pick(nobodies) : user);
  const who = `"mpid":${hasMpid ? idText(draw, mpid) : draw.pick(['0', '"0"', 'null'])},"device_info":{"device_application_stamp":"${device}"}`;
  const identities = `"user_identities":[{"identity_type":"customer_id","identity":${identity}}]`;
  const text = `{"batch_id":${1_000_000 + n},${who},${identities},"events":[${items.map((each) => each.text).join(',')}]}`;
  if (first === undefined) return { text, expected: { is: 'skipped' } };
  const link = { device: id, user: stored(known ?? ''), ms: first.ms };
  return { text, expected: { is: 'stored', event: first, others, ...(known !== undefined && { link }) } };
}

interface Place {
  readonly n: number;
  readonly place: number;
  readonly time: Moment;
  readonly distinctId: string;
}

function item(
  draw: Draw,
  { n, place, time, distinctId }: Place,
): { readonly text: string; readonly event: ExpectedEvent | undefined } {
  if (draw.chance(0.1)) {
    const data = `{"timestamp_unixtime_ms":${time.written}}`;
    return { text: `{"event_type":"session_end","data":${data}}`, event: undefined };
  }
  const [name, storedName] = draw.pick([...eventNames, ['"session_end"', 'session_end'] as const]);
  const [probe, storedProbe] = drawProbe(draw, n);
  const id = draw.pick([
    `"source_message_id":"${draw.uuid().toUpperCase()}",`,
    `"event_id":-${7_000_000_000_000_000_000n + BigInt(n * 10 + place)},`,
    '',
  ]);
  const attributes = `"custom_attributes":{"n":${n},"probe":${probe}}`;
  return {
    text: `{"event_type":"custom_event","data":{${id}"event_name":${name},"timestamp_unixtime_ms":${time.written},${attributes}}}`,
    event: { event: storedName, distinctId, ms: time.ms, probe: storedProbe, identity: `${n}.${place}` },
  };
}
