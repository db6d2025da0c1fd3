import type { Draw } from '../draw.ts';
import { drawProbe, eventNames, nobodies } from './dirt.ts';
import type { DirtyRecord, MakeRecords } from './dirty-record.ts';
import { damaged, drawMoment, idText } from './json-dirt.ts';
import { drawWho } from './people.ts';
import { withRepeats } from './repeats.ts';

/** Rows of the events of Data Sync. */
export const pendoRecords: MakeRecords = withRepeats((draw, n) =>
  damaged(draw, row(draw, n), { time: 'browserTimestamp', name: 'eventType', ids: ['visitorId'] }),
);

const kinds = [...eventNames, ['"load"', '$pageview'], ['"click"', '$autocapture']] as const;

function row(draw: Draw, n: number): DirtyRecord {
  const { user, device, stored } = drawWho(draw);
  const [kind, event] = draw.pick(kinds);
  const [probe, storedProbe] = drawProbe(draw, n);
  const time = drawMoment(draw);
  const number = Number(device.slice('d-'.length));
  // Before it was known; a shared device says nothing of that.
  const temporary = `_PENDO_T_${number}`;
  const visitor = user ?? temporary;
  const isFirst = user !== undefined && number % 10 !== 0 && draw.chance(0.3);
  const old = isFirst ? temporary : draw.pick(['', ...nobodies]);
  const properties = `{"n":${n},"probe":${probe}}`;
  const own = draw.chance(0.5) ? JSON.stringify(properties) : properties;
  const ids = `"visitorId":${idText(draw, visitor)},"oldVisitorId":${JSON.stringify(old)},"accountId":${draw.pick(['"acme"', '"null"', '17'])}`;
  return {
    text: `{${ids},"browserTimestamp":${time.written},"eventType":${kind},"eventId":"e-${n}","propertiesJson":${own}}`,
    expected: {
      is: 'stored',
      event: { event, distinctId: stored(visitor), ms: time.ms, probe: storedProbe, identity: String(n) },
      ...(isFirst && { join: [stored(visitor), temporary] }),
    },
  };
}
