import { isNobody } from '../../../base/nobody-ids.ts';
import { namedByText, type PlainIdentity, type PlainTable } from '../plain-table.ts';
import { setMember, type Properties } from '../read-values.ts';
import { groupsOf } from './groups.ts';
import { deviceOf, distinctIdOf, failureKey, isFailedLink, userOf } from './ids.ts';
import type { MixpanelContext } from './mixpanel-context.ts';

/** The namespace that PostHog's own importer uses: an event that both bring in is one event. */
export const insertIdNamespace: Uint8Array = Buffer.from('posthog_mixpanel', 'latin1');

const idKeys = ['distinct_id', '$distinct_id_before_identity', '$user_id', '$device_id', failureKey];
/** Identity events say more than their properties. */
const verbs: ReadonlySet<unknown> = new Set(['$identify', '$create_alias', '$merge']);

/** What plain events of the Raw Event Export become. */
export function mixpanelPlain({
  writer,
  properties,
  zone,
  groups,
  identify,
  countryName,
}: MixpanelContext): PlainTable {
  const nameOf = namedByText(writer);
  const groupKeys = groups.map(({ property }) => property);
  return {
    source: 'mixpanel',
    event: ['event'],
    eventName: (values) => (values.some((name) => verbs.has(name)) ? undefined : nameOf(values)),
    time: { path: 'properties.time', zone, numbers: zone },
    ids: { paths: idKeys.map(inProperties), read: readIdentity },
    uuid: {
      path: inProperties('$insert_id'),
      is: 'name',
      namespace: insertIdNamespace,
      otherwise: writer.contentUuid,
    },
    properties: [
      { bag: 'properties', names: properties },
      { of: 'properties', from: ['$geoip_country_code', '$geoip_country_name'], make: nameOfCountry },
      'ids',
      'person',
      ...(groups.length === 0
        ? []
        : [{ of: 'members', from: groupKeys.map(inProperties), make: groupsOfValues } as const]),
    ],
    identify: identify ? writer.identify : undefined,
  };

  function nameOfCountry([code, given]: readonly unknown[]): Properties {
    const name = typeof code === 'string' && given === undefined ? countryName(code) : undefined;
    return name === undefined ? {} : { $geoip_country_name: name };
  }

  function groupsOfValues(values: readonly unknown[]): Properties | undefined {
    const found = groupsOf(membersOf(groupKeys, values), groups);
    if (found === undefined) return {};
    return Object.values(found).every(isTrimmed) ? { $groups: found } : undefined;
  }
}

function inProperties(key: string): string {
  return `properties.${key}`;
}

function membersOf(keys: readonly string[], values: readonly unknown[]): Properties {
  const members: Properties = {};
  for (let index = 0; index < keys.length; index += 1) {
    if (values[index] !== undefined) setMember(members, keys[index] ?? '', values[index]);
  }
  return members;
}

function readIdentity(values: readonly unknown[]): PlainIdentity | undefined {
  const source = membersOf(idKeys, values);
  const distinctId = distinctIdOf(source);
  if (distinctId === undefined || isNobody(distinctId)) return undefined;
  const user = userOf(source);
  const device = deviceOf(source);
  return {
    distinctId,
    link: user === undefined || device === undefined || isFailedLink(source) ? undefined : { user, device },
    properties: {
      ...(user !== undefined && { $mixpanel_user_id: user }),
      ...(device !== undefined && { $mixpanel_device_id: device }),
    },
  };
}

/** Keys with white space around them are counted. */
function isTrimmed(key: unknown): boolean {
  return typeof key === 'string' && key.trim() === key;
}
