import { identityProperty, type WireEvent } from '../../wire/contract/wire-event.ts';
import { importMarks, type Change } from './step.ts';

const linkReason = 'link between ids, excluded by the identity policy';
const profileReason = 'profile of a user, excluded by the identity policy';

/** Merges ids as live events do: a user who identifies on a device becomes the person of the device's first user. */
export function mergeAll(): Change {
  return (event) =>
    event.event !== '$identify' ||
    event.properties['$anon_distinct_id'] === undefined ||
    event.properties[identityProperty] === 'joined'
      ? event
      : { ...event, properties: { ...event.properties, [identityProperty]: 'merge' } };
}

/** Removes every link between ids. Other properties that an `$identify` sets on its person stay. */
export function neverMerge(): Change {
  return (event) => {
    if (event.event === '$create_alias' || event.event === '$merge_dangerously') return linkReason;
    if (event.event !== '$identify' || event.properties['$anon_distinct_id'] === undefined) return event;
    const { $anon_distinct_id: _, ...properties } = event.properties;
    return Object.keys(properties).every((name) => importMarks.has(name)) ? linkReason : { ...event, properties };
  };
}

/** Maps ids of users to the device that the events of a record name for them. */
export function devicesIn(events: readonly WireEvent[]): ReadonlyMap<string, string> {
  const devices = new Map<string, string>();
  for (const { event, distinct_id: id, properties } of events) {
    const device = event === '$identify' ? properties['$anon_distinct_id'] : undefined;
    if (typeof device === 'string') devices.set(id, device);
  }
  return devices;
}

/** Assigns an event to its device. Links and profiles of users are excluded. */
export function deviceOnly(event: WireEvent, devices: ReadonlyMap<string, string>): WireEvent | string {
  if (['$identify', '$create_alias', '$merge_dangerously'].includes(event.event)) return linkReason;
  const named = event.properties['$device_id'];
  const device = typeof named === 'string' && named !== '' ? named : devices.get(event.distinct_id);
  if (device === undefined) return event.event === '$set' ? profileReason : event;
  return event.distinct_id === device ? event : { ...event, distinct_id: device };
}
