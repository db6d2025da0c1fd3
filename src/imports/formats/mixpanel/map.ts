import { isPlaceholderId } from '../../../base/placeholder-ids.ts';
import { imported, unreadable, type EventWriter, type NoEvents } from '../event-writer.ts';
import type { NameTable, RecordResult } from '../format.ts';
import { propertiesBy } from '../map-steps.ts';
import { timeAt } from '../map-rules.ts';
import { namesOf } from '../names.ts';
import { idOf, kindOf, objectOf, type Json, type Properties } from '../read-values.ts';
import type { Derived, Draft, Identity, RecordMap } from '../record-map.ts';
import { kindOfTime, type Zone } from '../times.ts';
import { groupsOf, type GroupProperty, isProfile } from './profiles.ts';
import { deviceOf, distinctIdOf, failureKey, isFailedLink, userOf, plainIdOf } from './ids.ts';
import { fromWarehouse } from './warehouse.ts';

/** The namespace of PostHog's own importer: an event imported by both is one event. */
const insertIdNamespace: Uint8Array = Buffer.from('posthog_mixpanel', 'latin1');

interface MixpanelParts {
  readonly writer: EventWriter;
  readonly names: NameTable;
  readonly zone: Zone;
  readonly groups: readonly GroupProperty[];
  /** Whether devices are linked to their users. */
  readonly identify: boolean;
  readonly readProfile: (record: Json) => RecordResult;
}

/** Maps records of the Raw Event Export. */
export function mixpanelMap({ writer, names, zone, groups, identify, readProfile }: MixpanelParts): RecordMap {
  // These two are outside the properties of an event.
  const propertyNames = namesOf({ ...names.properties, time: null, distinct_id: null });
  const own = [{ bag: 'properties', names: propertyNames, taken: 'keeps-own-name' }, addCountryName()] as const;
  return {
    source: 'mixpanel',
    instead: (record) => (isProfile(record) ? readProfile(record) : undefined),
    reshape: fromWarehouse,
    event: {
      from: ['event'],
      read: ({ event }) => idOf(event) ?? unreadable(`expected the name of the event in "event", got ${kindOf(event)}`),
      named: writer.eventName,
      verbs: { names: verbNames, read: verbReader(writer, propertiesBy(own)) },
    },
    time: timeAt({ path: 'properties.time', zone, numbers: zone }, ({ record }) => {
      const got = kindOfTime(sourceOf(record)['time']);
      return unreadable(`expected seconds or milliseconds since 1970 in properties.time, got ${got}`);
    }),
    ids: {
      from: ['distinct_id', '$distinct_id_before_identity', '$user_id', '$device_id', failureKey].map(inProperties),
      read: (record) => identityOf(sourceOf(record)),
      add: (properties, { user, device }) => {
        if (user !== undefined) properties['$mixpanel_user_id'] = user;
        if (device !== undefined) properties['$mixpanel_device_id'] = device;
      },
    },
    uuid: {
      is: 'name',
      path: inProperties('$insert_id'),
      namespace: insertIdNamespace,
      otherwise: writer.contentUuid,
    },
    order: ['event', 'time', 'uuid', 'verbs', 'names', 'ids'],
    properties: [...own, 'ids', 'person', ...(groups.length === 0 ? [] : [addGroups(groups)])],
    ...(identify && { links: writer.identify }),
    usual: {},
  };
}

function inProperties(key: string): string {
  return `properties.${key}`;
}

function sourceOf(record: Json): Json {
  return objectOf(record['properties']);
}

function identityOf(source: Json): Identity | NoEvents {
  const distinctId = distinctIdOf(source);
  if (distinctId === undefined) return unreadable('expected an id in distinct_id, $user_id or $device_id');
  return {
    distinctId,
    isPlaceholderId: isPlaceholderId(distinctId),
    user: userOf(source),
    device: deviceOf(source),
    isUnlinked: isFailedLink(source),
  };
}

function addCountryName(): Derived {
  const nameOf = createCountryNames();
  return {
    of: 'properties',
    from: ['$geoip_country_code', '$geoip_country_name'],
    add: ({ $geoip_country_code: code, $geoip_country_name: given }, properties) => {
      const name = typeof code === 'string' && given === undefined ? nameOf(code) : undefined;
      if (name !== undefined) properties['$geoip_country_name'] = name;
    },
  };
}

function addGroups(groups: readonly GroupProperty[]): Derived {
  return {
    of: 'members',
    from: groups.map(({ property }) => inProperties(property)),
    add: (record, properties) => {
      const found = groupsOf(sourceOf(record), groups);
      if (found !== undefined) properties['$groups'] = found;
    },
  };
}

/** An identity event gives one link per pair of ids, each with its properties. */
function verbReader(writer: EventWriter, propertiesOf: (draft: Draft) => Json) {
  return (draft: Draft): RecordResult | undefined => {
    const verb = mixpanelVerb(draft.name, sourceOf(draft.record));
    if (verb?.kind !== 'links') return verb;
    return imported(
      verb.links.map(({ event, distinctId, properties }, index) => {
        const uuid = index === 0 ? draft.uuid : writer.id(draft.uuid, event, String(index));
        return writer.event(uuid, event, distinctId, draft.timestamp, { ...propertiesOf(draft), ...properties });
      }),
    );
  };
}

/** Returns English names by code and remembers them: there are at most 676 codes. */
function createCountryNames(): (code: string) => string | undefined {
  const countries = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  const known = new Map<string, string | undefined>();
  return (code) => {
    if (!/^[a-z]{2}$/i.test(code)) return undefined;
    const key = code.toUpperCase();
    if (!known.has(key)) known.set(key, countries.of(key));
    return known.get(key);
  };
}

/** One link between two ids. */
interface Link {
  readonly event: string;
  readonly distinctId: string;
  readonly properties: Properties;
}

const verbNames: ReadonlySet<string> = new Set(['$identify', '$create_alias', '$merge']);

type Verb =
  | { readonly kind: 'links'; readonly links: readonly Link[] }
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'unreadable'; readonly reason: string };

/** Returns the result of an identity event; `undefined` for other events. */
function mixpanelVerb(name: string, source: Json): Verb | undefined {
  const verb = verbOf(name, source);
  return verb !== undefined && isFailedLink(source)
    ? { kind: 'skipped', reason: `${name} that Mixpanel marks as failed` }
    : verb;
}

function verbOf(name: string, source: Json): Verb | undefined {
  switch (name) {
    case '$identify':
      return isIdentify(source) ? link(name, '$identified_id', '$anon_id', '$anon_distinct_id', source) : undefined;
    case '$create_alias':
      return link(name, 'distinct_id', 'alias', 'alias', source);
    case '$merge':
      return mergeOf(source['$distinct_ids']);
    default:
      return undefined;
  }
}

/** Without these members it is an ordinary event of that name. */
function isIdentify(source: Json): boolean {
  return source['$identified_id'] !== undefined || source['$anon_id'] !== undefined;
}

function link(event: string, idKey: string, otherKey: string, property: string, source: Json): Verb {
  const id = plainIdOf(source[idKey]);
  const other = plainIdOf(source[otherKey]);
  if (id === undefined)
    return { kind: 'unreadable', reason: `${event}: expected ${idKey}, got ${kindOf(source[idKey])}` };
  if (other === undefined) {
    return { kind: 'unreadable', reason: `${event}: expected ${otherKey}, got ${kindOf(source[otherKey])}` };
  }
  return linked(event, id, [other], property);
}

/** `$merge` merges persons unconditionally, like `$merge_dangerously`. */
function mergeOf(value: unknown): Verb {
  const ids = Array.isArray(value) ? (value as readonly unknown[]).map(plainIdOf) : [];
  const [id, ...others] = ids.filter((each) => each !== undefined);
  if (id === undefined || others.length === 0 || others.length + 1 !== ids.length) {
    return { kind: 'unreadable', reason: `$merge: expected two ids in $distinct_ids, got ${kindOf(value)}` };
  }
  return linked('$merge_dangerously', id, others, 'alias');
}

function linked(event: string, id: string, others: readonly string[], property: string): Verb {
  if (isPlaceholderId(id) || others.some(isPlaceholderId)) {
    return { kind: 'skipped', reason: `${event} with a placeholder id` };
  }
  const useful = others.filter((other) => other !== id);
  if (useful.length === 0) return { kind: 'skipped', reason: `${event} of an id with itself` };
  return {
    kind: 'links',
    links: useful.map((other) => ({ event, distinctId: id, properties: { [property]: other } })),
  };
}
