import * as fc from 'fast-check';

/** What happens to a line of JSON: as text, so that it need not be JSON any more. */
export interface Damage {
  readonly line: number;
  readonly kind: 'value' | 'member' | 'again' | 'space' | 'cut' | 'byte';
  /** Which of the places where it could happen. */
  readonly place: number;
  readonly name: string;
  readonly value: string;
}

/** Names that mean something to a reader, a writer or JSON. */
const names =
  `alias distinct_id event event_name name time timestamp uuid $insert_id insert_id $user_id $device_id user_id
  device_id $set $set_once $unset $groups $group_key $process_person_profile $geoip_disable $import_source
  $import_run_id $cookieless_mode $current_url $host $pathname current_domain $device_type $geoip_country_code
  $geoip_country_name mp_country_code $country_code $city $geoip_city_name $os $browser $initial_referrer
  $initial_utm_source $referrer $mixpanel_user_id $identified_id $anon_id $distinct_ids $distinct_id $group_id
  properties event_properties user_properties person_properties groups elements_chain session_id os_name
  device_type language platform country region 1 007 __proto__ constructor tags price plan $new mp_new
  $distinct_id_before_identity elements person_id ip total seats token event_time event_type group_properties
  _airbyte_emitted_at initial_referrer event_timestamp event_params user_pseudo_id batch_event_index batch_page_id
  stream_id items device device.category properties.time properties.$set user_ltv user_first_touch_timestamp key
  value string_value int_value double_value page_location what at kind number user visitor user.id user.visitor
  page page.url paid form test deleted shop count customer note email referrer type messageId userId anonymousId
  context traits category title utm_source url $ip $anon_distinct_id request_ip`
    .trim()
    .split(/\s+/);

/** JSON of values that are easily mistaken for others, or written differently. */
const values = [
  `null true false 0 -0 -1 1e3 1E+2 0.10 0.1 0.0000001 1.0 12345678901234567890 123456789012345 0.12345678901234567 01 1. .5`,
  `1609459200 1609459200123 1609459200123456 1609459200.5 -1609459200 99999999999 4102444800 9999999999999 946684799`,
  `"" "null" "0" "anonymous" "\u00a0x" "ä" "\\u0041" "\\ud800" "a\\/b" "a\\"b\\\\c\\nd" "$device:" "$device:d" "ABC-123"`,
  `"track" "page" "screen" "2021-01-01T00:00:00.120Z" "2021-01-01T00:00:00.123000Z" "Tablet" "tablet" "de" "De" "Peru" "xx" "2021-01-01T00:00:00Z" "2021-02-29T00:00:00Z" "2021-06-30T23:59:60Z" "2021-01-01"`,
  `"2021-01-01T10:00:00.1234567Z" "2021-01-01T10:00:00+00:00" "2021-01-01T10:00:00+02:00" "1609459200" "https://a.example"`,
  `"https://a.example/b?c#d" "HTTP://A.example/x" "http://u:p@h:8/p" "about:blank" "https://" [] {} [1,"b",null]`,
  `1609459200123456.5 "1609459200123456" "007" "-0" "(not\u0020set)" "17" [{"item_id":"a","item_params":[{"key":"s","value":{"int_value":"4"}}]}]`,
  `[{"key":"a","value":{"string_value":"x"}}] [{"key":"a","value":{"int_value":"12","double_value":1.5}},{"key":"page_title","value":{"string_value":null}}]`,
  `[{"key":"a","value":null}] [{"value":{"string_value":"x"},"key":"a"}] [{"key":"a","value":3}] [{"key":"1","value":{"int_value":"9223372036854775807"}}]`,
  `{"revenue":1.5,"currency":"(not"} {"string_value":"x","int_value":null} {"int_value":"0.10"} {"float_value":"true"} {"string_value":"(not"}`,
  `"NULL" "n/a" "yes" "04.07.2021" "31.12.2023" "view" "gone" "018f3a2b-4c5d-7e6f-8a9b-0c1d2e3f4a5b" "018F3A2B-4C5D-7E6F-8A9B-0C1D2E3F4A5B" "2024-02-29T10:00:00Z" "2023-02-29T10:00:00Z" "2023-04-31T10:00:00Z"`,
  `{"id":"u9","visitor":"v9"} {"id":"","visitor":null} {"url":"https://a.example/b","device":"tablet"} "{\\"id\\":\\"u8\\"}" "{\\"id\\":7,\\"id\\":8}" "{"`,
  `{"a":{"b":[1]}} {"b":1,"a":2,"b":3} {"2":1,"1":2} {"__proto__":1}`,
]
  .flatMap((line) => line.split(' '))
  .concat([
    '" "',
    '" padded "',
    '"2021-12-31 23:59:59.123456"',
    '[1, 2]',
    '{"a" :1}',
    '{"id" :"u7"}',
    '"04.07.2021 12:30:00"',
    '"31.12.2023 23:59:59"',
    '"(not set)"',
    `"${'x'.repeat(201)}"`,
  ])
  .concat([`"${'é'.repeat(300)}"`, `${'['.repeat(40)}${']'.repeat(40)}`, `"${'y'.repeat(2000)}"`]);

export const damages: fc.Arbitrary<Damage> = fc.record({
  line: fc.nat(),
  kind: fc.constantFrom('value', 'member', 'again', 'space', 'cut', 'byte'),
  place: fc.nat(),
  name: fc.constantFrom(...names, 'n'.repeat(201), 'é'),
  value: fc.constantFrom(...values),
});

const members = /"((?:[^"\\]|\\.)*)":("(?:[^"\\]|\\.)*"|[-\d][\d.eE+-]*|true|false|null)?/g;

export function damagedLine(text: string, { kind, place, name, value }: Damage): string {
  const found = [...text.matchAll(members)];
  const member = found[place % Math.max(1, found.length)];
  if (member === undefined) return text;
  const { index } = member;
  const [whole, key = '', own = ''] = member;
  const put = (from: number, to: number, piece: string): string => text.slice(0, from) + piece + text.slice(to);
  const valueAt = index + whole.length - own.length;
  switch (kind) {
    case 'value':
      return own === '' ? text : put(valueAt, valueAt + own.length, value);
    case 'member':
      return put(index, index, `${JSON.stringify(name)}:${value},`);
    case 'again':
      return put(index, index, `"${key}":${value},`);
    case 'space':
      return put(valueAt, valueAt, '\t ');
    case 'cut':
      return place % 7 === 0 ? text.slice(0, place % text.length) : text;
    case 'byte':
      return put(valueAt, valueAt + 1, name.slice(0, 1));
  }
}
