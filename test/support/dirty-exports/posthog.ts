import type { Draw } from '../draw.ts';
import { deep, drawProbe, eventNames, idJson, nobodies, spelled, tooLongName, wide } from './dirt.ts';
import { rejected, type DirtyRecord, type MakeRecords } from './dirty-record.ts';
import { drawTime, drawWho, type Who } from './people.ts';
import { withRepeats } from './repeats.ts';

/** Events of PostHog, as captured and as batch exports write them. `zone`: of times that do not say it. */
export const posthogRecords = (zone = 'UTC'): MakeRecords => withRepeats((draw, n) => drawRecord(draw, n, zone));

const aboutProfiles: ReadonlySet<string> = new Set(['$identify', '$groupidentify']);
const eventMember = /"event":"(?:[^"\\]|\\.)*"/;

function drawRecord(draw: Draw, n: number, zone: string): DirtyRecord {
  const good = event(draw, { n, zone }, drawWho(draw, { isPadded: true }));
  if (draw.chance(0.95)) return good;
  const { text } = good;
  switch (draw.int(10)) {
    case 0:
      return { text: text.slice(0, draw.int(text.length - 2) + 1), expected: rejected };
    case 1:
      return { text: text.replace(/"timestamp":(?:"[^"]*"|[^,]+)/, '"timestamp":null'), expected: rejected };
    case 2:
      return { text: text.replace(/"timestamp":(?:"[^"]*"|[^,]+)/, '"timestamp":"2999-01-01"'), expected: rejected };
    case 3:
      return { text: text.replace(eventMember, '"event":""'), expected: rejected };
    case 4:
      return { text: text.replace(eventMember, `"event":"${tooLongName}"`), expected: rejected };
    case 5:
      return withProperties(good, `{"deep":${deep(100 + draw.int(5000))}}`, rejected);
    case 6:
      return { text: text.replace('{"uuid"', `{"wide":${wide(6000)},"uuid"`), expected: good.expected };
    case 7:
      return { text: text.replace(eventMember, '"event":"$performance_event"'), expected: { is: 'skipped' } };
    case 8:
      return withProperties(good, '"no JSON"', rejected);
    default:
      return {
        text: text.replace(/"distinct_id":(?:"(?:[^"\\]|\\.)*"|\d+)/, '"distinct_id":null'),
        expected: rejected,
      };
  }
}

function withProperties({ text }: DirtyRecord, properties: string, expected: DirtyRecord['expected']): DirtyRecord {
  return { text: `${text.slice(0, text.indexOf('"properties":'))}"properties":${properties}}`, expected };
}

function event(
  draw: Draw,
  { n, zone }: { readonly n: number; readonly zone: string },
  { user, device, stored }: Who,
): DirtyRecord {
  const [probe, storedProbe] = drawProbe(draw, n);
  const [inUtc, byClock] = [drawTime(draw), drawTime(draw, zone)];
  const [timestamp, time] = draw.pick([
    [inUtc.epoch, inUtc],
    [JSON.stringify(new Date(inUtc.ms).toISOString()), inUtc],
    [`"${byClock.text}"`, byClock],
  ] as const);
  const isPlaceholderId = draw.chance(0.01);
  const id = isPlaceholderId ? draw.pick(nobodies) : (user ?? device);
  const {
    name,
    event,
    more = '',
    tied,
    isPersonless = false,
  } = kindOf(draw, device, isPlaceholderId ? undefined : user);
  const hasId = !draw.chance(0.03);
  const uuid = hasId ? JSON.stringify(spelled(draw, draw.uuid())) : 'null';
  const properties = `{${more}"n":${n},"probe":${probe}}`;
  // Batch exports write an object as its JSON.
  const written = draw.chance(0.3) ? JSON.stringify(properties) : properties;
  return {
    text: `{"uuid":${uuid},"event":${name},"distinct_id":${idJson(draw, id)},"timestamp":${timestamp},"properties":${written}}`,
    expected: {
      is: 'stored',
      event: {
        event,
        distinctId: stored(id),
        ms: time.ms,
        probe: storedProbe,
        identity: String(n),
        isCounted: !hasId,
        // As in PostHog, what is about a profile makes one, also of such an id.
        isNobodys: isPersonless || (isPlaceholderId && !aboutProfiles.has(event)),
      },
      ...(tied !== undefined && { link: { device: tied, user: stored(id), ms: time.ms } }),
    },
  };
}

interface Kind {
  /** As JSON. */
  readonly name: string;
  readonly event: string;
  readonly more?: string;
  /** The id that it ties to its own. */
  readonly tied?: string;
  readonly isPersonless?: boolean;
}

function kindOf(draw: Draw, device: string, user: string | undefined): Kind {
  const kind = draw.int(100);
  const named = (event: string, more: string, tied?: string): Kind => ({
    name: JSON.stringify(event),
    event,
    more,
    ...(tied !== undefined && { tied }),
  });
  if (user !== undefined && kind < 15) return named('$identify', `"$anon_distinct_id":"${device}",`, device);
  // The id that this user alone had before.
  const before = `before-${user ?? ''}`.slice(0, 100);
  if (user !== undefined && kind < 18) return named('$create_alias', `"alias":${JSON.stringify(before)},`, before);
  if (user !== undefined && kind < 20) return named('$merge_dangerously', `"alias":${JSON.stringify(before)},`, before);
  // An id that identifies no person links nothing.
  if (kind < 22) return named('$identify', `"$anon_distinct_id":"${draw.pick(nobodies)}",`);
  if (kind < 24)
    return named('$groupidentify', '"$group_type":"company","$group_key":"acme","$group_set":{"seats":3},');
  if (kind < 30) return { ...named('$pageview', '"$process_person_profile":false,'), isPersonless: true };
  const [name, event] = draw.pick(eventNames);
  return { name, event };
}
