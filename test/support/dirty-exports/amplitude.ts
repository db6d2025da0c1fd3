import type { Draw } from '../draw.ts';
import { deep, drawProbe, eventNames, idJson, nobodies, spelled, tooLongName, wide } from './dirt.ts';
import { rejected, rejectedEvent, type DirtyRecord, type MakeRecords, type StoredRecord } from './dirty-record.ts';
import { drawTime, drawWho, type Time, type Who } from './people.ts';
import { withRepeats } from './repeats.ts';

/** Lines of the export of Amplitude. */
export const amplitudeRecords: MakeRecords = withRepeats((draw, n) => {
  const who = drawWho(draw, { isPadded: true });
  const at: At = { n, time: drawTime(draw) };
  if (draw.chance(0.04)) return withGroups(draw, at, who);
  return damagedRecord(draw, draw.chance(0.06) ? identify(draw, at, who) : event(draw, at, who));
});

const eventType = /"event_type":"(?:[^"\\]|\\.)*"/;
const timeColumns = /"(event_time|client_event_time|server_received_time)":"[^"]*"/g;

function damagedRecord(draw: Draw, good: DirtyRecord): DirtyRecord {
  if (draw.chance(0.95)) return good;
  const { text } = good;
  switch (draw.int(9)) {
    case 0:
      return { text: text.slice(0, draw.int(text.length - 2) + 1), expected: rejected };
    case 1:
      return { text: text.replaceAll(timeColumns, '"$1":null'), expected: rejected };
    case 2:
      return { text: text.replaceAll(timeColumns, '"$1":"2999-01-01 00:00:00"'), expected: rejected };
    case 3:
      return { text: text.replace(eventType, '"event_type":null'), expected: rejected };
    case 4:
      return { text: text.replace(eventType, `"event_type":"${tooLongName}"`), expected: rejectedEvent(good) };
    case 5:
      return { text: text.replace('"n":', `"deep":${deep(100 + draw.int(5000))},"n":`), expected: rejected };
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
    .replace(eventType, '"event_type":"session_start"')
    .replace(/"user_id":(?:"(?:[^"\\]|\\.)*"|\d+)/, '"user_id":null');
}

interface At {
  readonly n: number;
  readonly time: Time;
}

/** What every record begins with, and what is expected of one whose event is called so. */
interface Head {
  readonly text: string;
  readonly expect: (event: string, probe: string, setsTime: boolean) => StoredRecord;
}

function drawHead(draw: Draw, { n, time }: At, { user, device, stored }: Who): Head {
  const isPlaceholderId = draw.chance(0.01);
  const other = '2022-02-02 02:02:02.222000';
  const times = draw.pick([
    { event_time: time.text },
    { event_time: time.text, client_event_time: other, server_received_time: other },
    { event_time: '', client_event_time: time.text, server_received_time: other },
    { server_received_time: time.text },
  ]);
  // In every spelling.
  const ids = { uuid: spelled(draw, draw.uuid()), ...times, device_id: device };
  const known = isPlaceholderId ? undefined : user;
  return {
    text: `${JSON.stringify(ids).slice(1, -1)},"user_id":${idJson(draw, isPlaceholderId ? draw.pick(nobodies) : user)}`,
    expect: (event, probe, setsTime) => ({
      is: 'stored',
      event: { event, distinctId: stored(known ?? device), ms: time.ms, probe, identity: String(n), setsTime },
      ...(known !== undefined && { link: { device, user: stored(known), ms: time.ms } }),
    }),
  };
}

function event(draw: Draw, at: At, who: Who): DirtyRecord {
  const [name, storedName] = draw.pick(eventNames);
  const [probe, storedProbe] = drawProbe(draw, at.n);
  const head = drawHead(draw, at, who);
  const setsTime = draw.chance(0.5);
  const own = setsTime ? `{"latest":${at.time.ms},"initial_first":${at.time.ms}}` : draw.pick(['{}', 'null']);
  return {
    text: `{${head.text},"event_type":${name},"event_properties":{"n":${at.n},"probe":${probe}},"user_properties":${own}}`,
    expected: head.expect(storedName, storedProbe, setsTime),
  };
}

/** Operations instead of properties. */
function identify(draw: Draw, at: At, who: Who): DirtyRecord {
  const [probe, storedProbe] = drawProbe(draw, at.n);
  const head = drawHead(draw, at, who);
  const { ms } = at.time;
  const set = `"$set":{"latest":${ms},"n":${at.n},"probe":${probe}}`;
  const more = draw.pick([`"$unset":{"gone":"-"}`, `"$add":{"logins":1}`, `"$append":{"list":[1]}`]);
  return {
    text: `{${head.text},"event_type":"$identify","event_properties":{},"user_properties":{${set},"$setOnce":{"initial_first":${ms}},${more}}}`,
    expected: head.expect('$set', storedProbe, true),
  };
}

const groups = 30;

/** Properties of a group, beside an event of any kind or as a record that says nothing else. */
function withGroups(draw: Draw, at: At, who: Who): DirtyRecord {
  const isAlone = draw.chance(0.3);
  const head = drawHead(draw, at, isAlone ? { ...who, user: undefined } : who);
  const group = `g-${draw.int(groups)}`;
  const seats = draw.int(3);
  const properties = `"group_properties":{"company":{"${group}":{"probe":${seats},"plan":"p"}}}`;
  const said = {
    thing: group,
    content: String(seats),
    event: {
      event: '$groupidentify',
      distinctId: `$company_${group}`,
      ms: at.time.ms,
      probe: String(seats),
      identity: '',
    },
  };
  const rest = `"groups":{"company":["${group}"]},${properties}`;
  if (isAlone) {
    return { text: `{${head.text},"event_type":"$groupidentify",${rest}}`, expected: { is: 'said', says: [said] } };
  }
  const [name, storedName] = draw.pick(eventNames);
  return {
    text: `{${head.text},"event_type":${name},"event_properties":{"n":${at.n},"probe":${at.n}},${rest}}`,
    expected: { ...head.expect(storedName, String(at.n), false), says: [said] },
  };
}
