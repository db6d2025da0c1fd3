import type { Draw } from '../draw.ts';
import { deep, drawProbe, eventNames, idJson, nobodies, tooLongName, wide, type Probe } from './dirt.ts';
import { rejected, rejectedEvent, type DirtyRecord, type MakeRecords } from './dirty-record.ts';
import { drawTime, drawWho, type Who } from './people.ts';
import { withRepeats } from './repeats.ts';

/**
 * Rows of the BigQuery export of Google Analytics, with a place in their batch and, as before 2024, without one. Google amends a daily
 * table for three days.
 */
export const ga4Records: MakeRecords = withRepeats(drawRecord);

const nameMember = /"event_name":"(?:[^"\\]|\\.)*"/;
const timeMember = /"event_timestamp":(?:"\d+"|\d+)/;

function drawRecord(draw: Draw, n: number): DirtyRecord {
  const good = row(draw, n, drawWho(draw, { isPadded: true }));
  if (draw.chance(0.95)) return good;
  const { text } = good;
  switch (draw.int(9)) {
    case 0:
      return { text: text.slice(0, draw.int(text.length - 2) + 1), expected: rejected };
    case 1:
      return { text: text.replace(timeMember, '"event_timestamp":null'), expected: rejected };
    case 2:
      return { text: text.replace(timeMember, '"event_timestamp":"32503680000000000"'), expected: rejected };
    case 3:
      return { text: text.replace(nameMember, '"event_name":null'), expected: rejected };
    case 4:
      return { text: text.replace(nameMember, `"event_name":"${tooLongName}"`), expected: rejectedEvent(good) };
    case 5:
      return {
        text: text.replace('"platform"', `"deep":${deep(100 + draw.int(5000))},"platform"`),
        expected: rejected,
      };
    case 6:
      return { text: text.replace('"platform"', `"wide":[${wide(6000)}],"platform"`), expected: good.expected };
    case 7:
      return {
        text: text.replace(nameMember, `"event_name":"${draw.pick(['session_start', 'first_visit'])}"`),
        expected: { is: 'skipped' },
      };
    default:
      // Sent without consent.
      return {
        text: text.replace(/"(user_id|user_pseudo_id)":(?:"(?:[^"\\]|\\.)*"|\d+)/g, '"$1":null'),
        expected: { is: 'skipped' },
      };
  }
}

function row(draw: Draw, n: number, { user, device, stored }: Who): DirtyRecord {
  const [name, event] = draw.pick([
    ...eventNames,
    ['"page_view"', '$pageview'],
    ['"user_engagement"', '$autocapture'],
  ] as const);
  const [value, probe] = parameter(draw, n);
  // No time is 0 here: it stands for none.
  const ms = drawTime(draw).ms || Date.UTC(2023, 0, 1);
  const micros = String(ms * 1000);
  const isPlaceholderId = draw.chance(0.01);
  const hasPlace = draw.chance(0.8);
  const at = hasPlace
    ? `"batch_page_id":"${n}","batch_ordering_id":"1","batch_event_index":${draw.pick(['"3"', '3'])},`
    : '';
  const userId = isPlaceholderId ? draw.pick(nobodies) : user;
  const members = [
    `"event_timestamp":${draw.pick([micros, `"${micros}"`])}`,
    `"event_name":${name}`,
    `"event_params":[{"key":"n","value":{"int_value":"${n}"}},{"key":"probe","value":${value}}]`,
    `"user_id":${idJson(draw, userId)}`,
    `"user_pseudo_id":${JSON.stringify(device)}`,
    `"geo":{"country":"Germany","city":"(not set)"}`,
    `"stream_id":"44",${at}"platform":"WEB","items":[]`,
  ];
  return {
    text: `{${members.join(',')}}`,
    expected: {
      is: 'stored',
      event: {
        event,
        distinctId: stored(isPlaceholderId ? device : (user ?? device)),
        ms,
        probe,
        identity: String(n),
        isCounted: !hasPlace,
      },
      ...(!isPlaceholderId && user !== undefined && { link: { device, user: stored(user), ms } }),
    },
  };
}

/** The value of a parameter in the field of its type; whole numbers come as text. There are no others. */
function parameter(draw: Draw, n: number): Probe {
  const [written, stored] = drawProbe(draw, n);
  if (written.startsWith('"')) return [`{"string_value":${written},"int_value":null}`, stored];
  if (/^-?\d+$/.test(written))
    return [`{"string_value":null,"int_value":${draw.pick([written, `"${written}"`])}}`, stored];
  if (/^[-\d.]+$/.test(written)) return [`{"double_value":${written}}`, stored];
  return [`{"int_value":"${n}"}`, String(n)];
}
