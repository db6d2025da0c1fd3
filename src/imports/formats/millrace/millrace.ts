import { identityProperty, runProperty } from '../../../wire/contract/wire-event.ts';
import { imported, unreadable, type EventWriter, type NoEvents } from '../event-writer.ts';
import type { Evidence, Format, NameTable, RecordResult } from '../format.ts';
import { formatByMap } from '../format-by-map.ts';
import { timeAt } from '../map-rules.ts';
import { namesOf } from '../names.ts';
import { idOf, kindOf, objectOfJson, type Json, type Properties } from '../read-values.ts';
import type { Draft, Hook, Identity } from '../record-map.ts';
import { anyTime, kindOfTime, kindOfTimes, utc } from '../times.ts';
import { listOfJson } from './list-of-json.ts';
import example from './example.json' with { type: 'json' };

const own = 'An export of Millrace contains what is stored, so nothing is derived.';
const evidence: Evidence = {
  times: { rule: 'The time is `timestamp`, in microseconds.', because: own },
  zone: { rule: 'ISO 8601 with a zone; Parquet has microseconds, UTC.', because: own },
  ids: { rule: 'The uuid is that of the event. An event without one is rejected.', because: own },
  links: {
    rule:
      'distinct_id stays. An `$identify` that was captured live merges its ids as live events do (`$import_identity`: `merge`), one of an ' +
      'earlier import as that import did.',
    because: own,
  },
  counts: {
    rule: 'Each event is in one part of an export; the same event of another export is stored once.',
    because: own,
  },
};

const about = {
  slug: 'millrace',
  name: 'Millrace',
  description:
    'Events of exports of Millrace in the shape `millrace`, unchanged: ids, times, every digit of the properties. Persons and groups are ' +
    'created by the events again; their files are skipped unless the option says otherwise.',
  source: '`millrace events export`, or exports of the console, as NDJSON, CSV or Parquet.',
  options: [
    {
      key: 'profiles',
      label: 'Persons and groups',
      description:
        'Whether persons and groups of an export become events that create them again, for those whose events are not imported',
      default: 'skip',
      choices: ['skip', 'import'],
    },
  ],
  times: { own: ['timestamp'], received: ['received_at'] },
  evidence,
  names: { events: {}, properties: {}, person_properties: {} },
  example,
};

export const millrace: Format = formatByMap(about, ({ options, names, writer }) => {
  const readsProfiles = options['profiles'] === 'import';
  return {
    source: undefined,
    instead: (record) => (record['event'] === undefined ? readProfile(record, writer, readsProfiles) : undefined),
    event: {
      from: ['event'],
      read: ({ event }) => idOf(event) ?? unreadable(`expected the name of the event in event, got ${kindOf(event)}`),
      named: writer.eventName,
    },
    time: timeAt({ path: 'timestamp', zone: utc, numbers: utc }, ({ record }) =>
      unreadable(`expected a time in timestamp, got ${kindOfTime(record['timestamp'])}`),
    ),
    ids: { from: ['distinct_id'], read: identityOf },
    uuid: {
      is: 'uuid',
      path: 'uuid',
      otherwise: ({ record }) => unreadable(`expected the uuid of the event in uuid, got ${kindOf(record['uuid'])}`),
    },
    order: ['event', openProperties, 'ids', 'time', 'uuid', 'names'],
    properties: [bagOf(names), liveIdentify],
    // As stored.
    isNormalised: true,
  };
});

function bagOf(names: NameTable) {
  return {
    bag: 'properties',
    names: namesOf(names.properties),
    // The import adds its own.
    without: new Set([runProperty]),
    taken: 'keeps-own-name',
    mayBeText: true,
    view: (_: unknown, { source }: Draft) => source,
  } as const;
}

function openProperties(draft: Draft): NoEvents | undefined {
  const given = draft.record['properties'];
  draft.source = objectOfJson(given ?? {});
  if (draft.source !== undefined) return undefined;
  return unreadable(`expected properties to be an object or its JSON, got ${kindOf(given)}`);
}

function identityOf({ distinct_id: id }: Json): Identity | NoEvents {
  const distinctId = idOf(id);
  return distinctId === undefined ? unreadable(`expected distinct_id, got ${kindOf(id)}`) : { distinctId };
}

/** Without the mark, an import would take the other id for a device that belongs to its first user. */
const liveIdentify: Hook = {
  from: ['event', 'import_run'],
  isIdle: ({ event, import_run: run }) => event !== '$identify' || idOf(run) !== undefined,
  run: ({ event, properties }) => {
    if (event !== '$identify' || properties['$anon_distinct_id'] === undefined) return;
    properties[identityProperty] ??= 'merge';
  },
};

function readProfile(record: Json, writer: EventWriter, isWanted: boolean): RecordResult | undefined {
  if (record['distinct_ids'] !== undefined) {
    return isWanted ? readPerson(record, writer) : { kind: 'skipped', reason: 'a person, which its events create' };
  }
  if (record['group_key'] !== undefined) {
    return isWanted ? readGroup(record, writer) : { kind: 'skipped', reason: 'a group, which its events create' };
  }
  return undefined;
}

/** Returns the merges of a person's ids, and what set its properties when. */
function readPerson(record: Json, writer: EventWriter): RecordResult {
  const ids = (listOfJson(record['distinct_ids']) ?? []).map(idOf).filter((id) => id !== undefined);
  const first = idOf(record['first_distinct_id']) ?? ids[0];
  if (first === undefined) {
    return unreadable(`expected a list of ids in distinct_ids, got ${kindOf(record['distinct_ids'])}`);
  }
  const since = anyTime(record['created_at'], utc);
  const changes = changesOf(record);
  if (since === undefined) {
    return unreadable(`expected a time in created_at, got ${kindOfTimes(record, ['created_at'])}`);
  }
  if (changes === undefined) return unreadable(`expected a list in changes, got ${kindOf(record['changes'])}`);
  const others = ids.filter((id) => id !== first).sort();
  return imported([
    writer.generated(['person', first], '$set', first, since, { $set: {} }),
    ...others.map((id) =>
      writer.generated(['person-id', first, id], '$merge_dangerously', first, since, { alias: id }),
    ),
    ...changes.map(({ at, set, once, unset }) =>
      writer.generated(['person-change', first, at], '$set', first, at, { ...set, ...once, ...unset }),
    ),
  ]);
}

function readGroup(record: Json, writer: EventWriter): RecordResult {
  const [type, key] = [idOf(record['group_type']), idOf(record['group_key'])];
  if (type === undefined || key === undefined) {
    return unreadable(
      `expected the type and key of the group in group_type and group_key, got ${kindOf(record['group_type'])}`,
    );
  }
  const since = anyTime(record['created_at'], utc);
  const changes = changesOf(record);
  if (since === undefined) {
    return unreadable(`expected a time in created_at, got ${kindOfTimes(record, ['created_at'])}`);
  }
  if (changes === undefined) return unreadable(`expected a list in changes, got ${kindOf(record['changes'])}`);
  const event = (at: string, set: unknown) =>
    writer.generated(['group', type, key, at], '$groupidentify', `$${type}_${key}`, at, {
      $group_type: type,
      $group_key: key,
      $group_set: set,
      $groups: { [type]: key },
    });
  const isFirst = changes.some(({ at }) => at === since);
  return imported([
    ...(isFirst ? [] : [event(since, {})]),
    ...changes.map(({ at, set }) => event(at, set?.$set ?? {})),
  ]);
}

interface Change {
  readonly at: string;
  readonly set: { readonly $set: Properties } | undefined;
  readonly once: { readonly $set_once: Properties } | undefined;
  readonly unset: { readonly $unset: readonly unknown[] } | undefined;
}

/** Returns `undefined` if the record has no list of changes. */
function changesOf(record: Json): Change[] | undefined {
  const list = listOfJson(record['changes']);
  const changes: Change[] = [];
  for (const each of list ?? []) {
    const change = objectOfJson(each);
    const at = anyTime(change?.['at'], utc);
    if (change === undefined || at === undefined) return undefined;
    const [set, once] = [objectOfJson(change['set']), objectOfJson(change['set_once'])];
    const unset = listOfJson(change['unset']);
    changes.push({
      at,
      set: set && { $set: set as Properties },
      once: once && { $set_once: once as Properties },
      unset: unset && { $unset: unset },
    });
  }
  return list === undefined ? undefined : changes;
}
