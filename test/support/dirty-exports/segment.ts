import { createDraw, type Draw } from '../draw.ts';
import { deep, drawProbe, eventNames, idJson, nobodies, tooLongName, wide } from './dirt.ts';
import { rejected, type DirtyRecord, type MakeRecords } from './dirty-record.ts';
import { drawTime, drawWho, type Who } from './people.ts';

/**
 * Messages of Segment, a line each. Messages twice are stored twice unless an option says otherwise: none is. Only `identify` and `alias`
 * tie two ids together, whatever ids the other messages have.
 */
export const segmentRecords: MakeRecords = function* (seed, count) {
  const draw = createDraw(seed);
  for (let n = 0; n < count; n += 1) yield drawRecord(draw, n);
};

const eventMember = /"event":"(?:[^"\\]|\\.)*"/;

function drawRecord(draw: Draw, n: number): DirtyRecord {
  const good = message(draw, n, drawWho(draw, { isPadded: true }));
  if (draw.chance(0.95)) return good;
  const { text } = good;
  switch (draw.int(8)) {
    case 0:
      return { text: text.slice(0, draw.int(text.length - 2) + 1), expected: rejected };
    case 1:
      return { text: text.replace(/"timestamp":"[^"]*"/, '"timestamp":"2999-01-01T00:00:00Z"'), expected: rejected };
    case 2:
      return eventMember.test(text)
        ? { text: text.replace(eventMember, `"event":"${tooLongName}"`), expected: rejected }
        : good;
    case 3:
      return { text: text.replace('"n":', `"deep":${deep(100 + draw.int(5000))},"n":`), expected: rejected };
    case 4:
      return { text: text.replace('"n":', `"wide":${wide(6000)},"n":`), expected: good.expected };
    case 5:
      return { text: text.replace(/"timestamp":"[^"]*"/, '"timestamp":"0023-01-01T00:00:00Z"'), expected: rejected };
    case 6:
      return { text: text.replace(/"type":"[a-z]*"/, '"type":"delete"'), expected: rejected };
    default:
      return { text: text.replace(/"(user|anonymous)Id":(?:"(?:[^"\\]|\\.)*"|\d+|null),/g, ''), expected: rejected };
  }
}

/** What a type of message has beside its ids, the event that it becomes, and the id that it ties to its own. */
interface Body {
  readonly members: string;
  readonly event: string;
  readonly tied?: string | undefined;
}

function message(draw: Draw, n: number, { user, device, stored }: Who): DirtyRecord {
  const [probe, storedProbe] = drawProbe(draw, n);
  const time = timestamp(draw);
  const isPlaceholderId = draw.chance(0.01);
  const userId = isPlaceholderId ? draw.pick(nobodies) : user;
  const id = stored(isPlaceholderId ? device : (user ?? device));
  const { members, event, tied } = body(draw, {
    data: `{"n":${n},"probe":${probe}}`,
    device,
    user: isPlaceholderId ? undefined : user,
  });
  const ids = { anonymousId: device, messageId: `m-${n}`, timestamp: time.text };
  const head = `"userId":${idJson(draw, userId)},${JSON.stringify(ids).slice(1, -1)}`;
  return {
    text: `{${head},${members}}`,
    expected: {
      is: 'stored',
      event: { event, distinctId: id, ms: time.ms, probe: storedProbe, identity: String(n) },
      ...(tied !== undefined && { link: { device: tied, user: id, ms: time.ms } }),
    },
  };
}

function body(
  draw: Draw,
  { data, device, user }: { readonly data: string; readonly device: string; readonly user: string | undefined },
): Body {
  const kind = draw.int(100);
  if (kind < 10) return { members: `"type":"identify","traits":${data}`, event: '$identify', tied: user && device };
  if (kind < 14)
    return { members: `"type":"group","groupId":"g${draw.int(9)}","traits":${data}`, event: '$groupidentify' };
  if (kind < 18 && user !== undefined) {
    // The id that this user alone had before.
    const previousId = `before-${user}`.slice(0, 100);
    const members = `"type":"alias","previousId":${JSON.stringify(previousId)},"context":{"traits":${data}}`;
    return { members, event: '$create_alias', tied: previousId };
  }
  if (kind < 26) return { members: `"type":"page","name":"Home","properties":${data}`, event: '$pageview' };
  if (kind < 30) return { members: `"type":"screen","name":"Start","properties":${data}`, event: '$screen' };
  const [name, event] = draw.pick(eventNames);
  return { members: `"type":"track","event":${name},"properties":${data}`, event };
}

/** With Z, with an offset, or without a zone, which is UTC. */
function timestamp(draw: Draw): { readonly text: string; readonly ms: number } {
  const { ms } = drawTime(draw);
  const inUtc = new Date(ms).toISOString();
  const [offset, minutes] = draw.pick([
    ['+05:30', 330],
    ['-0800', -480],
    ['+14', 840],
  ] as const);
  const shifted = `${new Date(ms + minutes * 60_000).toISOString().slice(0, -1)}${offset}`;
  return { text: draw.pick([inUtc, inUtc, inUtc.slice(0, -1).replace('T', ' '), shifted]), ms };
}
