import type { Draw } from '../draw.ts';
import { deep, drawProbe, eventNames, idJson, nobodies, tooLongName, wide } from './dirt.ts';
import { rejected, rejectedEvent, type DirtyRecord, type ExpectedEvent, type MakeRecords } from './dirty-record.ts';
import { drawTime, drawWho, type Time, type Who } from './people.ts';
import { withRepeats } from './repeats.ts';

const ownId = '"$insert_id"';

/** Lines of the raw export of Mixpanel. `zone`: of a project whose seconds count local time. */
export const mixpanelRecords = (zone?: string): MakeRecords =>
  withRepeats(
    (draw, n) => drawRecord(draw, n, zone),
    (draw, record) => (record.text.includes(ownId) && draw.chance(0.3) ? withOtherContent(record) : record),
  );

function drawRecord(draw: Draw, n: number, zone: string | undefined): DirtyRecord {
  const time = drawTime(draw, zone);
  const who = drawWho(draw, { isPadded: true });
  if (who.user !== undefined && draw.chance(0.05)) return identity(draw, { n, time }, { ...who, user: who.user });
  const good = event(draw, { n, time }, who);
  if (draw.chance(0.95)) return good;
  const { text } = good;
  switch (draw.int(9)) {
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
      return { text: text.replace('"n":', `"deep":${deep(100 + draw.int(5000))},"n":`), expected: rejected };
    case 6:
      return { text: text.replace('"n":', `"wide":${wide(6000)},"n":`), expected: good.expected };
    case 7:
      return failedLink({ n, time }, who);
    default:
      return withoutIds({ n, time });
  }
}

interface At {
  readonly n: number;
  readonly time: Time;
}

/** The same id, name, person and time: the event that came first stays. */
function withOtherContent({ text, expected }: DirtyRecord): DirtyRecord {
  return { text: text.replace('"probe":', '"again":true,"probe":'), expected };
}

function event(draw: Draw, { n, time }: At, { user, device, stored }: Who): DirtyRecord {
  const [name, storedName] = draw.pick(eventNames);
  const [probe, storedProbe] = drawProbe(draw, n);
  const isPlaceholderId = draw.chance(0.01);
  const id = isPlaceholderId ? draw.pick(nobodies) : (user ?? device);
  // Since 2023 Mixpanel marks ids of devices.
  const distinctId = id === device && draw.chance(0.3) ? `$device:${device}` : id;
  const ids = isPlaceholderId ? '' : `"$user_id":${idJson(draw, user)},"$device_id":${JSON.stringify(device)},`;
  const hasId = !draw.chance(0.03);
  // The same id of another event of another person is another event.
  const insertId = draw.chance(0.01) ? `same-${draw.int(3)}` : `i${n}`;
  const known = hasId ? `"$insert_id":"${insertId}",` : '';
  return {
    text: `{"event":${name},"properties":{"time":${time.epoch},"distinct_id":${idJson(draw, distinctId)},${ids}${known}"n":${n},"probe":${probe}}}`,
    expected: {
      is: 'stored',
      event: {
        event: storedName,
        distinctId: stored(id),
        ms: time.ms,
        probe: storedProbe,
        identity:
          hasId && insertId.startsWith('same') ? sameIdentity(insertId, storedName, stored(id), time.ms) : String(n),
        isCounted: !hasId,
        isNobodys: isPlaceholderId,
      },
      ...(!isPlaceholderId && user !== undefined && { link: { device, user: stored(user), ms: time.ms } }),
    },
  };
}

/** What makes an event of an id that several have. */
function sameIdentity(insertId: string, name: string, id: string, ms: number): string {
  return [insertId, name, id, Math.floor(ms / 86_400_000)].join('\u0001');
}

/** A record that ties two ids together. */
function identity(draw: Draw, { n, time }: At, { user, device, stored }: Who & { readonly user: string }): DirtyRecord {
  const id = idJson(draw, user);
  // The id that this user alone had before.
  const before = `before-${user}`.slice(0, 100);
  const [name, ids, event, other] = draw.pick([
    ['$identify', `"$identified_id":${id},"$anon_id":"$device:${device}"`, '$identify', device],
    ['$create_alias', `"distinct_id":${id},"alias":${JSON.stringify(before)}`, '$create_alias', before],
    ['$merge', `"$distinct_ids":[${id},${JSON.stringify(before)}]`, '$merge_dangerously', before],
  ] as const);
  const stands: ExpectedEvent = { event, distinctId: stored(user), ms: time.ms, probe: String(n), identity: String(n) };
  return {
    text: `{"event":"${name}","properties":{"time":${time.epoch},${ids},"$insert_id":"i${n}","n":${n},"probe":${n}}}`,
    expected: { is: 'stored', event: stands, link: { device: other, user: stored(user), ms: time.ms } },
  };
}

/** Mixpanel itself did not tie these two together. */
function failedLink({ n, time }: At, { user = 'u1', device }: Who): DirtyRecord {
  const ids = { $identified_id: user, $anon_id: device, $insert_id: `i${n}`, $identity_failure_reason: 'ID is in use' };
  return {
    text: `{"event":"$identify","properties":{"time":${time.epoch},${JSON.stringify(ids).slice(1)}}`,
    expected: { is: 'skipped' },
  };
}

function withoutIds({ n, time }: At): DirtyRecord {
  return { text: `{"event":"Lost","properties":{"time":${time.epoch},"$insert_id":"i${n}"}}`, expected: rejected };
}
