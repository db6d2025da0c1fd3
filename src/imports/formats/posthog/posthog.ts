import { canonicalJson } from '../../../base/canonical-json.ts';
import { isPlaceholderId } from '../../../base/placeholder-ids.ts';
import { imported, unreadable, type EventWriter } from '../event-writer.ts';
import { FormatOptionsError, type Format, type RecordResult, type Evidence } from '../format.ts';
import { formatByMap } from '../format-by-map.ts';
import { namesOf, rename, type Names } from '../names.ts';
import { idOf, kindOf, objectOfJson, type Json, type Properties } from '../read-values.ts';
import type { Links } from '../reader-memory.ts';
import { anyTime, kindOfTimes, zoneOption, type Zone } from '../times.ts';
import { posthogMap } from './map.ts';
import example from './example.json' with { type: 'json' };

const evidence: Evidence = {
  times: {
    rule: 'The time is `timestamp`, which PostHog corrected by sent_at on ingestion.',
    sources: ['https://posthog.com/docs/data/timestamps'],
  },
  zone: {
    rule: 'ISO 8601; times without a zone are UTC, as in the event table, unless the option sets another zone.',
    sources: [
      'https://github.com/PostHog/posthog/blob/055f2c3c383aeb33dab89e232db0ab2e2d723fd8/posthog/models/event/sql.py',
    ],
    option: 'time_zone',
  },
  ids: {
    rule: 'The uuid is that of the event, in any spelling; without one it is derived from the content.',
    sources: ['https://posthog.com/docs/data-pipelines/batch-exports'],
  },
  links: {
    rule: 'distinct_id stays. Distinct ids of an exported person are merged through the id of the person. Events with placeholder ids create no person, except profile events such as `$identify`.',
    sources: ['https://posthog.com/docs/data-pipelines/batch-exports'],
    option: 'link_persons',
  },
  counts: {
    rule: 'Batch exports select by time of arrival, so every event is in exactly one of them regardless of its event time; a repeated event is stored once.',
    sources: ['https://github.com/PostHog/posthog.com/pull/17153'],
  },
};

/** Group types by their index, which differs between projects. */
type GroupTypes = ReadonlyMap<string, string>;

/** Parses `0:company,1:team`. Throws FormatOptionsError. */
function groupTypesOf(text: string): GroupTypes {
  const pairs = text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  return new Map(
    pairs.map((pair) => {
      const [, index, type] = /^(\d{1,2}):\s*(\S.*)$/.exec(pair) ?? [];
      if (index !== undefined && type !== undefined) return [index, type] as const;
      throw new FormatOptionsError(
        `group_types: expected indexes and types such as 0:company,1:team, got: ${pair.slice(0, 60)}`,
      );
    }),
  );
}

/** Whether a record is a row of the group table or a result of the groups API, which have no event. */
function isGroup(record: Json): boolean {
  if (record['event'] !== undefined || record['distinct_id'] !== undefined) return false;
  return (
    record['group_key'] !== undefined ||
    (record['key'] !== undefined && record['index'] !== undefined && record['properties'] !== undefined)
  );
}

/**
 * Returns a `$groupidentify` with all properties of the group; its id is derived from them, so the same group gives the same
 * event.
 */
function createGroupReader(writer: EventWriter, types: GroupTypes, zone: Zone): (record: Json) => RecordResult {
  return (record) => {
    const key = idOf(record['group_key'] ?? record['key']);
    if (key === undefined)
      return unreadable(`expected the key of the group in group_key, got ${kindOf(record['group_key'])}`);
    const index = idOf(record['group_type_index'] ?? record['index']);
    const type = idOf(record['group_type']) ?? types.get(index ?? '');
    if (type === undefined) {
      return unreadable(
        index === undefined
          ? 'expected the type of the group in group_type, or its index in group_type_index'
          : `expected the type of groups with the index ${index.slice(0, 10)} in the option group_types, such as ${index.slice(0, 10)}:company`,
      );
    }
    const set = objectOfJson(record['group_properties'] ?? record['properties'] ?? {});
    if (set === undefined) return unreadable('expected group_properties to be an object or its JSON');
    const timestamp = timeOf(record, zone);
    if (timestamp === undefined) {
      return unreadable(`expected a time in updated_at, _timestamp or created_at, got ${kindOfTimes(record, times)}`);
    }
    const properties = { $group_type: type, $group_key: key, $group_set: set, $groups: { [type]: key } };
    const idParts = ['$groupidentify', type, key, canonicalJson(set) ?? ''];
    return imported([writer.generated(idParts, '$groupidentify', `$${type}_${key}`, timestamp, properties)]);
  };
}

const times = ['updated_at', '_timestamp', '_inserted_at', 'created_at'] as const;

/** Returns the time of the group's state; later events take precedence. */
function timeOf(record: Json, zone: Zone): string | undefined {
  for (const column of times) {
    const time = anyTime(record[column], zone);
    if (time !== undefined) return time;
  }
  return undefined;
}

const about = {
  slug: 'posthog',
  name: 'PostHog',
  description:
    'Events in the form of capture, batch exports and the events API; persons in the form of batch exports; ' +
    'groups in the form of their table and API. Ids, times and properties stay; elements_chain becomes `$elements_chain`. In the name table, ' +
    '`column:x` is the column x of an export.',
  source:
    'Lines of `{event, distinct_id, properties, timestamp}`, batch exports of events and persons (JSON lines, or rows of ' +
    'Parquet as objects), results of the events API and the groups API, rows of the group table.',
  options: [
    {
      key: 'person_properties',
      label: 'Person properties',
      description: 'Whether the person properties of an exported event become `$set` or are ignored',
      default: 'set',
      choices: ['set', 'ignore'],
    },
    {
      key: 'link_persons',
      label: 'Link the ids of persons',
      description:
        'Whether the distinct ids of an exported person are merged again, through the id of the person as an additional distinct id',
      default: 'yes',
      choices: ['yes', 'no'],
    },
    {
      key: 'group_types',
      label: 'Group types',
      description:
        'Group types by index, for groups with only an index, e.g. `0:company,1:team`; the groups API of the ' +
        'project lists them',
    },
    { key: 'time_zone', label: 'Time zone', description: 'Zone of times without one', default: 'UTC' },
  ],
  times: { own: ['timestamp'], received: ['created_at', '_inserted_at', 'inserted_at'] },
  evidence,
  names: {
    events: {},
    properties: {
      'column:_inserted_at': null,
      'column:created_at': null,
      'column:historical_migration': null,
      'column:inserted_at': null,
      'column:ip': '$ip',
      'column:now': null,
      'column:offset': null,
      'column:sent_at': null,
      'column:site_url': null,
      'column:team_id': null,
      'column:token': null,
    },
    person_properties: {},
  },
  example,
};

interface PersonParts {
  readonly writer: EventWriter;
  readonly person: Names;
  readonly zone: Zone;
  /** Links created so far; `undefined` disables links. */
  readonly links: Links | undefined;
}

export const posthog: Format = formatByMap(about, ({ options, names, writer, memory }) => {
  const zone = zoneOption('time_zone', options['time_zone'] ?? 'UTC');
  const links = options['link_persons'] === 'yes' ? memory.links : undefined;
  const parts: PersonParts = { writer, person: namesOf(names.person_properties), zone, links };
  const readGroup = createGroupReader(writer, groupTypesOf(options['group_types'] ?? ''), zone);
  const readProfile = (record: Json): RecordResult | undefined => {
    if (isPerson(record)) return readPerson(record, parts);
    return isGroup(record) ? readGroup(record) : undefined;
  };
  return posthogMap({ writer, names, zone, setsPerson: options['person_properties'] === 'set', readProfile });
});

function isPerson(record: Json): boolean {
  return record['event'] === undefined && record['person_id'] !== undefined && record['distinct_id'] !== undefined;
}

/**
 * Reads a person of a batch export: one record per distinct id. The id of the person, which all its records share, merges them in
 * any order and across files.
 */
function readPerson(record: Json, { writer, person, zone, links }: PersonParts): RecordResult {
  const distinctId = idOf(record['distinct_id']);
  const personId = idOf(record['person_id']);
  if (distinctId === undefined) return unreadable(`expected distinct_id, got ${kindOf(record['distinct_id'])}`);
  if (personId === undefined) return unreadable(`expected person_id, got ${kindOf(record['person_id'])}`);
  const deleted = record['is_deleted'];
  if (deleted === true || deleted === 1 || deleted === 'true') return { kind: 'skipped', reason: 'a deleted person' };
  const source = objectOfJson(record['properties'] ?? {});
  if (source === undefined) {
    return unreadable(`expected properties to be an object or its JSON, got ${kindOf(record['properties'])}`);
  }
  const created = anyTime(record['created_at'], zone);
  const written = anyTime(record['_inserted_at'], zone) ?? created;
  if (written === undefined) {
    return unreadable(
      `expected a time in created_at or _inserted_at, got ${kindOfTimes(record, ['created_at', '_inserted_at'])}`,
    );
  }
  const set: Properties = {};
  rename(source, person, set);
  const since = created ?? written;
  const link = writer.generated(['$merge_dangerously', distinctId, personId], '$merge_dangerously', distinctId, since, {
    alias: personId,
  });
  const isLink = distinctId !== personId && !isPlaceholderId(distinctId) && !isPlaceholderId(personId);
  const isNew = links !== undefined && isLink && links.isNew(link.uuid, Date.parse(since) * 1000);
  return imported([
    ...(isNew ? [link] : []),
    writer.generated(['$set', distinctId, canonicalJson(set) ?? ''], '$set', distinctId, written, { $set: set }),
  ]);
}
