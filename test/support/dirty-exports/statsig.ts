import type { Draw } from '../draw.ts';
import { drawProbe, eventNames, nobodies } from './dirt.ts';
import type { DirtyRecord, MakeRecords } from './dirty-record.ts';
import { damaged, drawMoment, idText, withValue } from './json-dirt.ts';
import { drawWho } from './people.ts';
import { withRepeats } from './repeats.ts';

const ids = ['userID', 'deviceID', 'stableID'];

/** Events of the console API. `zone`: of times that do not say it. */
export const statsigRecords = (zone?: string): MakeRecords => withRepeats((draw, n) => drawEvent(draw, n, zone));

function drawEvent(draw: Draw, n: number, zone: string | undefined): DirtyRecord {
  const good = event(draw, n, zone);
  // The table of names leaves these out.
  if (draw.chance(0.01)) {
    return { text: withValue(good.text, 'name', '"auto_capture::session_start"'), expected: { is: 'skipped' } };
  }
  return damaged(draw, good, { time: 'timestamp', name: 'name', ids });
}

function event(draw: Draw, n: number, zone: string | undefined): DirtyRecord {
  const { user, device, stored } = drawWho(draw);
  const [name, storedName] = draw.pick([...eventNames, ['"auto_capture::page_view"', '$pageview'] as const]);
  const [probe, storedProbe] = drawProbe(draw, n);
  const time = drawMoment(draw, zone);
  const isPlaceholderId = draw.chance(0.01);
  const known = isPlaceholderId ? undefined : user;
  const hasId = draw.chance(0.7);
  const devices = draw.pick([
    `"deviceID":"${device}","stableID":"s"`,
    `"deviceID":"undefined","stableID":"${device}"`,
    `"stableID":"${device}"`,
  ]);
  const who = `"userID":${idText(draw, isPlaceholderId ? draw.pick(nobodies) : user)},${devices}`;
  const own = `{"n":${n},"probe":${probe}}`;
  const id = hasId ? `"id":"e-${n}",` : '';
  return {
    text: `{${id}"name":${name},"timestamp":${time.written},${who},"metadata":${draw.chance(0.5) ? own : JSON.stringify(own)}}`,
    expected: {
      is: 'stored',
      event: {
        event: storedName,
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
