import { isNobody } from '../../../base/nobody-ids.ts';
import { imported, unreadable, type EventWriter, type NoEvents } from '../event-writer.ts';
import type { NameTable, RecordResult } from '../format.ts';
import { propertiesBy } from '../map-steps.ts';
import { timeAt } from '../map-times.ts';
import { namesOf } from '../names.ts';
import { idOf, kindOf, objectOf, type Json } from '../read-values.ts';
import type { Derived, Draft, Identity, RecordMap } from '../record-map.ts';
import { kindOfTime, type Zone } from '../times.ts';
import { createCountryNames } from './country-names.ts';
import { groupsOf, type GroupProperty } from './groups.ts';
import { deviceOf, distinctIdOf, failureKey, isFailedLink, userOf } from './ids.ts';
import { isProfile } from './profiles.ts';
import { mixpanelVerb, verbNames } from './verbs.ts';
import { fromWarehouse } from './warehouse.ts';

/** The namespace that PostHog's own importer uses: an event that both bring in is one event. */
const insertIdNamespace: Uint8Array = Buffer.from('posthog_mixpanel', 'latin1');

export interface MixpanelParts {
  readonly writer: EventWriter;
  readonly names: NameTable;
  readonly zone: Zone;
  readonly groups: readonly GroupProperty[];
  /** Whether devices are linked to their users. */
  readonly identify: boolean;
  readonly readProfile: (record: Json) => RecordResult;
}

/** What records of the Raw Event Export become. */
export function mixpanelMap({ writer, names, zone, groups, identify, readProfile }: MixpanelParts): RecordMap {
  // These two stand beside the properties in an event.
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
    isNobody: isNobody(distinctId),
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

/** An identity event gives a link for each pair of ids, all with its own properties. */
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
