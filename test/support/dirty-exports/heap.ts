import type { Draw } from '../draw.ts';
import { drawProbe, eventNames, nobodies, type Probe } from './dirt.ts';
import type { DirtyRecord, Expected, MakeRecords } from './dirty-record.ts';
import { damaged, drawMoment, idText, type Moment } from './json-dirt.ts';
import { drawWho } from './people.ts';
import { withRepeats } from './repeats.ts';

/** Rows of events and users, migrations of users, and lines of the JSON export. `zone`: of times that do not say it. */
export const heapRecords = (zone?: string): MakeRecords => withRepeats((draw, n) => drawRow(draw, n, zone));

function drawRow(draw: Draw, n: number, zone: string | undefined): DirtyRecord {
  const row: Row = { n, time: drawMoment(draw, zone), probe: drawProbe(draw, n), ...drawUser(draw) };
  if (draw.chance(0.02)) return migration(draw, row);
  const members = { ids: ['user_id', 'id', 'identity'] };
  if (row.known !== undefined && draw.chance(0.1)) {
    const good = userRow(draw, row);
    // Another time than the documented ones says nothing.
    return draw.chance(0.97)
      ? good
      : { text: good.text.replace('"last_modified"', '"modified"'), expected: { is: 'rejected' } };
  }
  return damaged(draw, eventRow(draw, row), { time: 'time', name: 'event_name', ...members });
}

interface Row {
  readonly n: number;
  readonly time: Moment;
  readonly probe: Probe;
  readonly heapId: string;
  /** What the customer calls the user. */
  readonly identity: string | undefined;
  /** The same as stored; `undefined` if it identifies no person. */
  readonly known: string | undefined;
}

/** An id of Heap has one identity at most, an identity one or more ids. */
function drawUser(draw: Draw): Pick<Row, 'heapId' | 'identity' | 'known'> {
  const { user, device, stored } = drawWho(draw);
  const number = Number(device.slice('d-'.length));
  const isShared = number % 10 === 0;
  const heapId = isShared && user !== undefined ? `71${digitsOf(user)}` : `48100607206000${1000 + number}`;
  const isPlaceholderId = draw.chance(0.01);
  return {
    heapId,
    identity: isPlaceholderId ? draw.pick(nobodies) : user,
    known: isPlaceholderId || user === undefined ? undefined : stored(user),
  };
}

function digitsOf(text: string): number {
  return [...text].slice(0, 20).reduce((sum, each) => (sum * 31 + (each.codePointAt(0) ?? 0)) % 1_000_000_007, 7);
}

function eventRow(draw: Draw, { n, time, probe, heapId, identity, known }: Row): DirtyRecord {
  const [name, storedName] = draw.pick([...eventNames, ['"pageviews"', '$pageview'] as const]);
  // Rows of the warehouse know Heap's own id only.
  const isExport = draw.chance(0.4);
  const id = isExport ? `"id":"(2008543124,${heapId})"` : `"user_id":${idText(draw, heapId)}`;
  const who = isExport && identity !== undefined ? `,"identity":${idText(draw, identity)}` : '';
  const own = isExport ? `"properties":{"n":${n},"probe":${probe[0]}}` : `"n":${n},"probe":${probe[0]}`;
  const owner = isExport ? known : undefined;
  return {
    text: `{"event_id":${draw.pick(['', '7120340120340'])}${1_000_000 + n},"event_name":${name},${id}${who},"time":${time.written},${own}}`,
    expected: {
      is: 'stored',
      event: { event: storedName, distinctId: owner ?? heapId, ms: time.ms, probe: probe[1], identity: String(n) },
      ...(owner !== undefined && { join: [owner, heapId] }),
    },
  };
}

function userRow(draw: Draw, { n, time, probe, heapId, identity, known = '' }: Row): DirtyRecord {
  const expected: Expected = {
    is: 'stored',
    event: { event: '$set', distinctId: known, ms: time.ms, probe: probe[1], identity: String(n) },
    join: [known, heapId],
  };
  const ids = `"user_id":${idText(draw, heapId)},"identity":${idText(draw, identity)}`;
  return { text: `{${ids},"last_modified":${time.written},"n":${n},"probe":${probe[0]}}`, expected };
}

/** Heap has made one user of two. */
function migration(draw: Draw, { n, time, heapId }: Row): DirtyRecord {
  const from = `33012007701${100_000 + n}`;
  return {
    text: `{"from_user_id":${idText(draw, from)},"to_user_id":${idText(draw, heapId)},"time":${time.written}}`,
    expected: { is: 'joined', join: [heapId, from] },
  };
}
