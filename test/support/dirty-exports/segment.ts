import { createDraw, type Draw } from '../draw.ts';
import { deep, drawProbe, eventNames, nobodies, tooLongName, wide } from './dirt.ts';
import { rejected, type DirtyRecord, type MakeRecords } from './dirty-record.ts';
import { drawTime, drawWho, type Who } from './people.ts';

/** Messages of Segment, a line each; all of them `track`. Messages twice are stored twice unless an option says otherwise: none is. */
export const segmentRecords: MakeRecords = function* (seed, count) {
  const draw = createDraw(seed);
  for (let n = 0; n < count; n += 1) yield drawRecord(draw, n);
};

const eventMember = /"event":"(?:[^"\\]|\\.)*"/;

function drawRecord(draw: Draw, n: number): DirtyRecord {
  const good = message(draw, n, drawWho(draw));
  if (draw.chance(0.95)) return good;
  const { text } = good;
  switch (draw.int(6)) {
    case 0:
      return { text: text.slice(0, draw.int(text.length - 2) + 1), expected: rejected };
    case 1:
      return { text: text.replace(/"timestamp":"[^"]*"/, '"timestamp":"2999-01-01T00:00:00Z"'), expected: rejected };
    case 2:
      return { text: text.replace(eventMember, `"event":"${tooLongName}"`), expected: rejected };
    case 3:
      return { text: text.replace('"n":', `"deep":${deep(70 + draw.int(5000))},"n":`), expected: rejected };
    case 4:
      return { text: text.replace('"n":', `"wide":${wide(6000)},"n":`), expected: good.expected };
    default:
      return { text: text.replace(/"(user|anonymous)Id":"(?:[^"\\]|\\.)*",/g, ''), expected: rejected };
  }
}

function message(draw: Draw, n: number, { user, device, stored }: Who): DirtyRecord {
  const [name, storedName] = draw.pick(eventNames);
  const [probe, storedProbe] = drawProbe(draw, n);
  const { ms } = drawTime(draw);
  const isNobody = draw.chance(0.01);
  const ids = { userId: isNobody ? draw.pick(nobodies) : user, anonymousId: device, messageId: `m-${n}` };
  const head = JSON.stringify({ ...ids, type: 'track', timestamp: new Date(ms).toISOString() }).slice(1, -1);
  const id = stored(isNobody ? device : (user ?? device));
  return {
    text: `{${head},"event":${name},"properties":{"n":${n},"probe":${probe}}}`,
    expected: {
      is: 'stored',
      event: { event: storedName, distinctId: id, ms, probe: storedProbe, identity: String(n) },
      ...(!isNobody && user !== undefined && { link: { device, user: stored(user), ms } }),
    },
  };
}
