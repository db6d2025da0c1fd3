import { createDraw, type Draw } from '../draw.ts';
import { deep, drawProbe, eventNames, nobodies, tooLongName, wide } from './dirt.ts';
import { rejected, rejectedEvent, type DirtyRecord, type MakeRecords } from './dirty-record.ts';
import { drawTime, drawWho, type Who } from './people.ts';

const ownId = '"$insert_id"';

/** Lines of the raw export of Mixpanel. */
export const mixpanelRecords: MakeRecords = function* (seed, count) {
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
  // The whole record once more, as overlapping downloads have it.
  if (earlier !== undefined && draw.chance(0.01)) return earlier;
  const good = event(draw, n, drawWho(draw));
  if (draw.chance(0.95)) return good;
  const { text } = good;
  switch (draw.int(8)) {
    case 0:
      return { text: text.slice(0, draw.int(text.length - 2) + 1), expected: rejected };
    case 1:
      return { text: text.replace(/"time":[^,]+,/, ''), expected: rejected };
    case 2:
      return { text: text.replace(/"time":[^,]+,/, '"time":32503680000,'), expected: rejected };
    case 3:
      return { text: text.replace(/"event":"(?:[^"\\]|\\.)*"/, '"event":null'), expected: rejected };
    case 4:
      return {
        text: text.replace(/"event":"(?:[^"\\]|\\.)*"/, `"event":"${tooLongName}"`),
        expected: rejectedEvent(good),
      };
    case 5:
      return { text: text.replace('"n":', `"deep":${deep(70 + draw.int(5000))},"n":`), expected: rejected };
    case 6:
      return { text: text.replace('"n":', `"wide":${wide(6000)},"n":`), expected: good.expected };
    default:
      return withoutId(draw, n);
  }
}

function event(draw: Draw, n: number, { user, device, ...who }: Who): DirtyRecord {
  const [name, storedName] = draw.pick(eventNames);
  const [probe, stored] = drawProbe(draw, n);
  const time = drawTime(draw);
  const isNobody = draw.chance(0.01);
  const id = isNobody ? draw.pick(nobodies) : (user ?? device);
  const ids = isNobody
    ? { distinct_id: id }
    : { distinct_id: id, ...(user !== undefined && { $user_id: user }), $device_id: device };
  // A content of its own is the identity of a record that has no id.
  const insertId = draw.chance(0.03) ? {} : { $insert_id: draw.chance(0.01) ? `same-${draw.int(9)}-${n}` : `i${n}` };
  const more = JSON.stringify({ ...ids, ...insertId }).slice(1, -1);
  return {
    text: `{"event":${name},"properties":{"time":${time.epoch},${more},"n":${n},"probe":${probe}}}`,
    expected: {
      is: 'stored',
      event: {
        event: storedName,
        distinctId: who.stored(id),
        ms: time.ms,
        probe: stored,
        identity: String(n),
        isNobodys: isNobody,
      },
      ...(!isNobody && user !== undefined && { link: { device, user: who.stored(user), ms: time.ms } }),
    },
  };
}

function withoutId(draw: Draw, n: number): DirtyRecord {
  const { epoch } = drawTime(draw);
  return { text: `{"event":"Lost","properties":{"time":${epoch},"$insert_id":"i${n}"}}`, expected: rejected };
}
