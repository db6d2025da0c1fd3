import { canonicalJson } from '../../../base/canonical-json.ts';
import { isNobody } from '../../../base/nobody-ids.ts';
import { imported, unreadable, type EventWriter } from '../event-writer.ts';
import type { Format, RecordResult } from '../format.ts';
import { formatByMap } from '../format-by-map.ts';
import { namesOf, rename, type Names } from '../names.ts';
import { idOf, kindOf, objectOfJson, type Json, type Properties } from '../read-values.ts';
import type { Links } from '../reader-memory.ts';
import { anyTime, kindOfTimes, zoneOption, type Zone } from '../times.ts';
import { evidence } from './evidence.ts';
import example from './example.json' with { type: 'json' };
import { createGroupReader, groupTypesOf, isGroup } from './groups.ts';
import { posthogMap } from './map.ts';

const about = {
  slug: 'posthog',
  name: 'PostHog',
  description:
    'Events as they are captured, as batch exports write them and as the events API gives them; persons as batch exports ' +
    'write them; groups as their table and API have them. Ids, times and properties stay; elements_chain becomes `$elements_chain`. In the table of names, ' +
    '`column:x` is the column x of an export.',
  source:
    'Lines of `{event, distinct_id, properties, timestamp}`, batch exports of events and persons (JSON lines, or rows of ' +
    'Parquet as objects), results of the events API and the groups API, rows of the table of groups.',
  options: [
    {
      key: 'person_properties',
      description: 'What becomes of the person’s properties beside an exported event: `$set`, or nothing',
      default: 'set',
      choices: ['set', 'ignore'],
    },
    {
      key: 'link_persons',
      description:
        'Whether the distinct ids of one exported person are joined again, by the id of the person as one more distinct id',
      default: 'yes',
      choices: ['yes', 'no'],
    },
    {
      key: 'group_types',
      description:
        'Types of the groups by their index, for groups that say the index only, e.g. `0:company,1:team`; the groups API of the ' +
        'project lists them',
    },
    { key: 'time_zone', description: 'Zone of times that are written without one', default: 'UTC' },
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
  /** Links that were made already; undefined: none are made. */
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
 * A person of a batch export: one record per distinct id. The id of the person, which all its records share, joins them
 * whatever their order and however they are spread over files.
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
  const isLink = distinctId !== personId && !isNobody(distinctId) && !isNobody(personId);
  const isNew = links !== undefined && isLink && links.isNew(link.uuid, Date.parse(since) * 1000);
  return imported([
    ...(isNew ? [link] : []),
    writer.generated(['$set', distinctId, canonicalJson(set) ?? ''], '$set', distinctId, written, { $set: set }),
  ]);
}
