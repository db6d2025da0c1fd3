import type { Draw } from '../draw.ts';
import { drawProbe, eventNames, nobodies } from './dirt.ts';
import type { DirtyRecord, MakeRecords } from './dirty-record.ts';
import { damaged, drawMoment, idText } from './json-dirt.ts';
import { drawWho } from './people.ts';
import { withRepeats } from './repeats.ts';

/** Rows of a workspace export. Most have no id. `zone`: of times that do not say it. */
export const juneRecords = (zone?: string): MakeRecords =>
  withRepeats((draw, n) =>
    damaged(draw, row(draw, n, zone), { time: 'timestamp', name: 'name', ids: ['user_id', 'anonymous_id'] }),
  );

function row(draw: Draw, n: number, zone: string | undefined): DirtyRecord {
  const { user, device, stored } = drawWho(draw);
  const [name, event] = draw.pick([...eventNames, ['"page"', 'page'] as const]);
  const [probe, storedProbe] = drawProbe(draw, n);
  const time = drawMoment(draw, zone);
  const isPlaceholderId = draw.chance(0.01);
  const known = isPlaceholderId ? undefined : user;
  const hasId = draw.chance(0.3);
  const ids = `"user_id":${idText(draw, isPlaceholderId ? draw.pick(nobodies) : user)},"anonymous_id":${JSON.stringify(device)}`;
  const own = `{"n":${n},"probe":${probe}}`;
  const id = hasId ? `,"message_id":"m-${n}"` : '';
  return {
    text: `{"type":${draw.pick(['"track"', '""'])},"name":${name},${ids},"timestamp":${time.written},"properties":${draw.chance(0.5) ? own : JSON.stringify(own)}${id}}`,
    expected: {
      is: 'stored',
      event: {
        event,
        distinctId: stored(known ?? device),
        ms: time.ms,
        probe: storedProbe,
        identity: String(n),
        isCounted: !hasId,
      },
      ...(known !== undefined && { link: { device, user: stored(known), ms: time.ms } }),
    },
  };
}
