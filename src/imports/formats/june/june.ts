import { canonicalJson } from '../../../base/canonical-json.ts';
import { isObject } from '../../../base/json.ts';
import type { WireEvent } from '../../../wire/contract/wire-event.ts';
import { assumedZone, assumedZoneOption } from '../read-times.ts';
import { imported, unreadable, type EventWriter, type NoEvents } from '../event-writer.ts';
import { formatByMap } from '../format-by-map.ts';
import type { Format, NameTable, RecordResult, Evidence } from '../format.ts';
import { put, timeIn, userOrDevice, uuidIn } from '../map-rules.ts';
import { propertiesBy } from '../map-steps.ts';
import { personId, firstId, idOf, kindOf, objectOf, objectOfJson, type Json, type Properties } from '../read-values.ts';
import type { Draft } from '../record-map.ts';
import example from './example.json' with { type: 'json' };

const evidence: Evidence = {
  times: {
    rule: 'The time is `timestamp`.',
    because: 'No other column of the export contains a time.',
  },
  zone: {
    rule: 'The zone of times without one is not documented: UTC by default, set the option for another.',
    option: 'time_zone',
    note: 'zone_assumed',
  },
  ids: {
    rule: 'No id is documented: the uuid is message_id or id if a row has one, else it is derived from the content.',
    because: 'Equal rows of a file are kept as separate events, and importing the same file again changes nothing.',
  },
  links: {
    rule: 'user_id is the user, anonymous_id the device, as in the calls to June.',
    sources: [
      'https://raw.githubusercontent.com/api-evangelist/june/refs/heads/main/json-schema/june-track-request-schema.json',
    ],
  },
  counts: {
    rule: 'Nothing is skipped and nothing is treated as a duplicate.',
    because: 'Every row becomes an event, or is rejected with a reason.',
  },
};

const slug = 'june';

const names: NameTable = {
  events: { page: '$pageview', screen: '$screen' },
  properties: {
    context_app_build: '$app_build',
    context_app_name: '$app_name',
    context_app_namespace: '$app_namespace',
    context_app_version: '$app_version',
    context_campaign_content: 'utm_content',
    context_campaign_medium: 'utm_medium',
    context_campaign_name: 'utm_campaign',
    context_campaign_source: 'utm_source',
    context_campaign_term: 'utm_term',
    context_device_id: '$device_id',
    context_device_manufacturer: '$device_manufacturer',
    context_device_model: '$device_model',
    context_device_name: '$device_name',
    context_device_type: '$device_type',
    context_ip: '$ip',
    context_library_name: '$lib',
    context_library_version: '$lib_version',
    context_locale: '$locale',
    context_network_carrier: '$network_carrier',
    context_os_name: '$os',
    context_os_version: '$os_version',
    context_page_path: '$pathname',
    context_page_referrer: '$referrer',
    context_page_search: '$search',
    context_page_title: 'title',
    context_page_url: '$current_url',
    context_screen_height: '$screen_height',
    context_screen_width: '$screen_width',
    context_timezone: '$timezone',
    context_userAgent: '$useragent',
  },
  person_properties: {},
};

const about = {
  slug,
  name: 'June',
  description:
    'Rows of the CSV export: type, name, user_id, anonymous_id, timestamp, and properties, traits and context as ' +
    'JSON. A row with group_id and traits is a group, one with traits and no name an identified user, any other ' +
    'an event; for the types page and screen the name becomes a property. Rows have no id: the uuid is derived ' +
    'from the content.',
  source: 'The CSV files of a workspace export.',
  options: [
    {
      key: 'group_type',
      label: 'Group type',
      description: 'Type of the groups that companies become.',
      default: 'company',
    },
    assumedZoneOption,
  ],
  times: { own: ['timestamp'], received: [] },
  evidence,
  names,
  example,
};

export const june: Format = formatByMap(about, ({ options, names, writer }) => {
  const { zone, noted, notes } = assumedZone(options);
  const groupType = options['group_type'] || 'company';
  const properties = put(names.properties);
  const person = put(names.person_properties);
  const personOf = propertiesBy([{ ...person, bag: 'traits' }]);
  const ofKind =
    (kind: Kind, read: (draft: Draft) => RecordResult) =>
    (draft: Draft): RecordResult | undefined =>
      kindOfRow(draft.record) === kind ? noted(read(draft), draft.record['timestamp']) : undefined;
  return {
    source: slug,
    reshape: withObjects,
    event: {
      from: nameColumns,
      read: (row) =>
        sourceNameOf(row) ?? unreadable(`expected the name of the event in name, got ${kindOf(row['name'])}`),
      // A tracked event named like a row type is not of that type.
      named: (name, row) => (!isPage(row) && Object.hasOwn(about.names.events, name) ? name : writer.eventName(name)),
    },
    time: timeIn('timestamp', 'timestamp as ISO 8601 or milliseconds', zone),
    ids: userOrDevice(['user_id'], ['anonymous_id'], unreadable('expected user_id or anonymous_id, got neither')),
    uuid: { ...uuidIn(slug, ['message_id', 'id'], writer), otherwise: ({ given }) => writer.contentId(given) },
    order: [
      'time',
      brokenCell,
      ofKind('group', (draft) => readGroup(writer, draft, groupType)),
      'ids',
      ofKind('identify', (draft) => readIdentify(writer, draft, personOf(draft))),
      'event',
      'names',
    ],
    properties: [
      { ...properties, bag: 'context', prefix: 'context_', levels: 1, without: new Set(['traits', 'groupId']) },
      { ...properties, bag: '', without: columns },
      {
        of: 'members',
        from: nameColumns,
        add: (row, target) => {
          if (isPage(row)) writer.put(target, row['type'] === 'page' ? 'name' : '$screen_name', nameOf(row));
        },
      },
      { ...properties, bag: 'properties' },
      {
        of: 'members',
        from: ['group_id', 'context.groupId'],
        add: ({ group_id: own, context }, target) => {
          const group = firstId(own, objectOf(context)['groupId']);
          if (group !== undefined) target['$groups'] = { [groupType]: group };
        },
      },
      '$set',
      ...notes('timestamp'),
    ],
    person: [
      {
        ...person,
        bag: 'traits',
        into: '$set',
        view: (traits, { record }) => ({ ...objectOf(objectOf(record['context'])['traits']), ...objectOf(traits) }),
      },
    ],
    links: writer.identify,
  };
});

const nameColumns = ['type', 'name', 'event'];
const jsonCells = ['properties', 'traits', 'context'];

/** Parses JSON cells; an empty cell is an empty object. */
function withObjects(row: Json): Json {
  const cellOf = (value: unknown): unknown =>
    value === undefined || value === null || value === '' ? {} : (objectOfJson(value) ?? value);
  return { ...row, ...Object.fromEntries(jsonCells.map((column) => [column, cellOf(row[column])])) };
}

function brokenCell({ record }: Draft): NoEvents | undefined {
  const broken = jsonCells.find((column) => !isObject(record[column]));
  return broken === undefined
    ? undefined
    : unreadable(`expected ${broken} as a JSON object, got ${kindOf(record[broken])}`);
}

function isPage({ type }: Json): boolean {
  return type === 'page' || type === 'screen';
}

function nameOf({ name, event }: Json): string | undefined {
  return firstId(name, event);
}

function sourceNameOf(row: Json): string | undefined {
  return isPage(row) ? String(row['type']) : nameOf(row);
}

type Kind = 'event' | 'identify' | 'group';

function kindOfRow(row: Json): Kind {
  const { type } = row;
  if (type === 'identify' || type === 'group') return type;
  if (nameOf(row) !== undefined || type === 'track' || isPage(row)) return 'event';
  if (idOf(row['group_id']) !== undefined) return 'group';
  return Object.keys(objectOf(row['traits'])).length > 0 ? 'identify' : 'event';
}

const columns: ReadonlySet<string> = new Set(
  'anonymous_id context event group_id id message_id name properties timestamp traits type user_id'.split(' '),
);

function readIdentify(writer: EventWriter, draft: Draft, person: Properties): RecordResult {
  const { timestamp, identity } = draft;
  const distinctId = identity.distinctId ?? '';
  const known = identify(writer, draft);
  if (Object.keys(person).length === 0) return imported(known);
  const idParts = ['profile', distinctId, canonicalJson(person)];
  return imported([...known, writer.generated(idParts, '$set', distinctId, timestamp, { $set: person })]);
}

function readGroup(writer: EventWriter, draft: Draft, groupType: string): RecordResult {
  const { record, timestamp } = draft;
  const key = idOf(record['group_id']);
  if (key === undefined) return unreadable(`expected group_id, got ${kindOf(record['group_id'])}`);
  const traits = objectOf(record['traits']);
  const properties = {
    $group_type: groupType,
    $group_key: key,
    $group_set: traits,
    $groups: { [groupType]: key },
  };
  const distinctId = personId(record['user_id'], record['anonymous_id']) ?? `${groupType}_${key}`;
  const idParts = ['group', groupType, key, distinctId, canonicalJson(traits)];
  const event = writer.generated(idParts, '$groupidentify', distinctId, timestamp, properties);
  return imported([...identify(writer, draft), event]);
}

function identify(writer: EventWriter, { record, timestamp }: Draft): readonly WireEvent[] {
  const user = personId(record['user_id']);
  const device = personId(record['anonymous_id']);
  return user !== undefined && device !== undefined ? writer.identify(user, device, timestamp) : [];
}
