import { isPlaceholderId } from '../../../base/placeholder-ids.ts';
import { canonicalUuid } from '../../../base/uuids.ts';
import { profileEvents } from '../../../wire/contract/profile-events.ts';
import { unreadable, type EventWriter, type NoEvents } from '../event-writer.ts';
import type { NameTable, RecordResult } from '../format.ts';
import { timeAt } from '../map-rules.ts';
import { namesOf, type Names } from '../names.ts';
import { idOf, kindOf, objectOfJson, setMember, type Json, type Properties } from '../read-values.ts';
import type { Draft, Hook, Identity, Members, PersonStep, RecordMap } from '../record-map.ts';
import { kindOfTime, utc, type Zone } from '../times.ts';
import { isObject } from '../../../base/json.ts';

interface PosthogParts {
  readonly writer: EventWriter;
  readonly names: NameTable;
  readonly zone: Zone;
  /** Whether the person properties of an event become `$set`. */
  readonly setsPerson: boolean;
  /** Reads persons and groups. */
  readonly readProfile: (record: Json) => RecordResult | undefined;
}

/** Maps events of exports, with properties as an object or as JSON text. */
export function posthogMap({ writer, names, zone, setsPerson, readProfile }: PosthogParts): RecordMap {
  return {
    source: 'posthog',
    instead: readProfile,
    event: {
      from: ['event'],
      read: ({ event }) => idOf(event) ?? unreadable(`expected the name of the event in "event", got ${kindOf(event)}`),
      named: writer.eventName,
    },
    time: timeAt({ path: 'timestamp', zone, numbers: utc }, ({ record }) =>
      unreadable(`expected a time in timestamp, got ${kindOfTime(record['timestamp'])}`),
    ),
    ids: { from: ['distinct_id'], read: identityOf },
    uuid: { is: 'uuid', path: 'uuid', otherwise: ({ record }) => otherUuid(record, writer) },
    order: ['event', openProperties, 'ids', 'time', 'names', keepProfileEvents],
    properties: [
      {
        bag: 'properties',
        names: namesOf(names.properties),
        taken: 'keeps-own-name',
        mayBeText: true,
        view: (_, { source }) => source,
      },
      { bag: '', names: columnNames(names), nothing: [null, ''], taken: { prefix: 'posthog_' } },
      elementsChain,
      elements,
      '$set',
      unset,
    ],
    person: personSteps(namesOf(names.person_properties), setsPerson),
    // Values stored by PostHog are already normalised.
    isNormalised: true,
    // They take precedence over the same keys in the properties.
    usual: { lacks: new Set(['$set', '$set_once', '$unset']) },
  };
}

/**
 * Columns with dedicated code, or skipped: `person` of the events API is the current person, not the one at the time of the
 * event.
 */
const ownColumns = ['event', 'distinct_id', 'uuid', 'id', 'timestamp', 'properties', 'person_properties'].concat([
  'elements',
  'elements_chain',
  'person',
  '$set',
  '$set_once',
  '$unset',
  'api_key',
]);

function columnNames(names: NameTable): Names {
  const columns = new Map<string, string | null>(ownColumns.map((column) => [column, null]));
  for (const [key, name] of Object.entries(names.properties)) {
    if (key.startsWith('column:')) columns.set(key.slice('column:'.length), name);
  }
  return columns;
}

function openProperties(draft: Draft): NoEvents | undefined {
  const given = draft.record['properties'];
  draft.source = objectOfJson(given ?? {});
  if (draft.source !== undefined) return undefined;
  return unreadable(`expected properties to be an object or its JSON, got ${kindOf(given)}`);
}

function identityOf(record: Json): Identity | NoEvents {
  const distinctId = idOf(record['distinct_id']) ?? idInProperties(objectOfJson(record['properties']));
  if (distinctId === undefined) return unreadable('expected distinct_id, in the record or its properties');
  return { distinctId, isPlaceholderId: isPlaceholderId(distinctId) };
}

function idInProperties(properties: Json = {}): string | undefined {
  return idOf(properties['distinct_id']) ?? idOf(properties['$distinct_id']);
}

/** Keeps person processing for profile events: the pipeline itself refuses links with placeholder ids. */
function keepProfileEvents(draft: Draft): undefined {
  const { event, identity } = draft;
  if (identity.isPlaceholderId === true && profileEvents.has(event ?? ''))
    draft.identity = { distinctId: identity.distinctId };
}

function otherUuid(record: Json, writer: EventWriter): string {
  const { uuid, id } = record;
  const own = canonicalUuid(id);
  if (own !== undefined) return own;
  const text = idOf(uuid) ?? idOf(id);
  return text === undefined ? writer.contentId(record) : writer.id(text);
}

const elementsChain: Members = {
  members: { $elements_chain: 'elements_chain' },
  nothing: [null, ''],
  takes: (chain) => typeof chain === 'string',
  fills: true,
};

const elements: Hook = {
  from: ['elements'],
  isIdle: ({ elements: list }) => !Array.isArray(list) || list.length === 0,
  run: ({ record, properties }) => addElements(record, properties),
};

const unset: Hook = {
  from: ['$unset'],
  isIdle: ({ $unset: names }) => names === undefined || names === null,
  run: ({ record, properties }) => void (properties['$unset'] ??= record['$unset']),
};

/** Members next to the properties take precedence over the same keys in them, as in capture. */
function personSteps(names: Names, setsPerson: boolean): readonly PersonStep[] {
  const asTheyAre = { names: namesOf({}), taken: 'replaces' } as const;
  return [
    ...(setsPerson ? [{ bag: 'person_properties', into: '$set', mayBeText: true, ...asTheyAre } as const] : []),
    ...(['$set', '$set_once'] as const).flatMap((into): PersonStep[] => [
      { bag: `properties.${into}`, into, view: (_, { properties }) => properties[into], ...asTheyAre },
      { bag: into, into, ...asTheyAre },
      { renames: names, into },
    ]),
  ];
}

/** Keeps the page elements of an automatic event without a chain. */
function addElements({ elements, elements_chain: chain }: Json, properties: Properties): void {
  if (!Array.isArray(elements) || (typeof chain === 'string' && chain !== '')) return;
  properties['$elements'] ??= (elements as readonly unknown[]).filter(isObject).map(wireElement);
}

/** Stored name → name on the wire. */
const wireNames: readonly (readonly [stored: string, wire: string])[] = [
  ['tag_name', 'tag_name'],
  ['text', '$el_text'],
  ['$el_text', '$el_text'],
  ['href', 'attr__href'],
  ['attr_id', 'attr__id'],
  ['attr_class', 'attr__class'],
  ['nth_child', 'nth_child'],
  ['nth_of_type', 'nth_of_type'],
];

function wireElement(element: Json): Properties {
  const wire: Properties = {};
  for (const [stored, name] of wireNames) {
    const value = element[stored];
    if (value !== undefined && value !== null) wire[name] = value;
  }
  const attributes = isObject(element['attributes']) ? element['attributes'] : element;
  for (const key of Object.keys(attributes)) {
    if (key.startsWith('attr__') && !Object.hasOwn(wire, key)) setMember(wire, key, attributes[key]);
  }
  return wire;
}
