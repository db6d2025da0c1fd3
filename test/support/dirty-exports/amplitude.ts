import { createDraw, type Draw } from '../draw.ts';
import { deep, drawProbe, eventNames, idJson, nobodies, spelled, tooLongName, wide } from './dirt.ts';
import { rejected, rejectedEvent, type DirtyRecord, type MakeRecords } from './dirty-record.ts';
import { drawTime, drawWho, type Who } from './people.ts';

const ownId = '"uuid"';

/** Lines of the export of Amplitude. */
export const amplitudeRecords: MakeRecords = function* (seed, count) {
  const draw = createDraw(seed);
  let earlier: DirtyRecord | undefined;
  for (let n = 0; n < count; n += 1) {
    const record = drawRecord(draw, n, earlier);
    // Of a record without an id of its own the second one in a file is another event.
    if (record.expected.is === 'stored' && record.text.includes(ownId) && draw.chance(0.02)) earlier = record;
    yield record;
  }
};

function drawRecord(draw: Draw, n: number, earlier: DirtyRecord | undefined): DirtyRecord {
  if (earlier !== undefined && draw.chance(0.01)) return earlier;
  const good = event(draw, n, drawWho(draw, { isPadded: true }));
  if (draw.chance(0.95)) return good;
  const { text } = good;
  switch (draw.int(9)) {
    case 0:
      return { text: text.slice(0, draw.int(text.length - 2) + 1), expected: rejected };
    case 1:
      return { text: text.replace(/"event_time":"[^"]*",/, ''), expected: rejected };
    case 2:
      return { text: text.replace(/"event_time":"[^"]*"/, '"event_time":"2999-01-01 00:00:00"'), expected: rejected };
    case 3:
      return { text: text.replace(/"event_type":"(?:[^"\\]|\\.)*"/, '"event_type":null'), expected: rejected };
    case 4:
      return {
        text: text.replace(/"event_type":"(?:[^"\\]|\\.)*"/, `"event_type":"${tooLongName}"`),
        expected: rejectedEvent(good),
      };
    case 5:
      return { text: text.replace('"n":', `"deep":${deep(70 + draw.int(5000))},"n":`), expected: rejected };
    case 6:
      return { text: text.replace('"n":', `"wide":${wide(6000)},"n":`), expected: good.expected };
    case 7:
      return { text: sessionStart(text), expected: { is: 'skipped' } };
    default:
      return {
        text: text.replace(/"(user|device)_id":(?:"(?:[^"\\]|\\.)*"|\d+)/g, '"$1_id":null'),
        expected: rejected,
      };
  }
}

/** Of a device without a user, so that it says nothing at all: the table of names leaves such events out. */
function sessionStart(text: string): string {
  return text
    .replace(/"event_type":"(?:[^"\\]|\\.)*"/, '"event_type":"session_start"')
    .replace(/"user_id":(?:"(?:[^"\\]|\\.)*"|\d+)/, '"user_id":null');
}

function event(draw: Draw, n: number, { user, device, ...who }: Who): DirtyRecord {
  const [name, storedName] = draw.pick(eventNames);
  const [probe, stored] = drawProbe(draw, n);
  const time = drawTime(draw);
  const isNobody = draw.chance(0.01);
  const userId = isNobody ? draw.pick(nobodies) : user;
  const head = JSON.stringify({
    // In every spelling.
    uuid: spelled(draw, draw.uuid()),
    event_time: time.text,
    device_id: device,
  }).slice(1, -1);
  const id = isNobody ? device : (user ?? device);
  return {
    text: `{${head},"user_id":${idJson(draw, userId)},"event_type":${name},"event_properties":{"n":${n},"probe":${probe}}}`,
    expected: {
      is: 'stored',
      event: { event: storedName, distinctId: who.stored(id), ms: time.ms, probe: stored, identity: String(n) },
      ...(!isNobody && user !== undefined && { link: { device, user: who.stored(user), ms: time.ms } }),
    },
  };
}
