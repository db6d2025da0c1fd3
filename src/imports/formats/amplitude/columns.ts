import type { NameTable } from '../format.ts';
import { setMember, type Json, type Properties } from '../read-values.ts';

/** Read by code of their own: the event's name, objects, and what means one thing on the web and another in an app. */
const special = ['event_type', 'event_properties', 'user_properties', 'groups', 'group_properties', 'device_id'].concat(
  ['os_name', 'os_version', 'device_type', 'language'],
);

/**
 * Writes columns as properties by the table (`column:x`), those it does not know under their own names. Where the event
 * has a property of that name already, the column becomes `amplitude_x`.
 */
export function createColumns(names: NameTable): (record: Json, properties: Properties) => void {
  const table = new Map<string, string | null>(special.map((column) => [column, null]));
  for (const [key, name] of Object.entries(names.properties)) {
    if (key.startsWith('column:')) table.set(key.slice('column:'.length), name);
  }
  const kindOfDevice = createDeviceKinds();
  return (record, properties) => {
    for (const column of Object.keys(record)) {
      const value = record[column];
      if (value === null || value === '' || value === undefined) continue;
      const name = table.get(column);
      if (name === null || isEmptyObject(value)) continue;
      put(properties, name ?? column, column, value);
    }
    addDevice(record, properties, kindOfDevice);
  };
}

function put(properties: Properties, name: string, column: string, value: unknown): void {
  if (value === null || value === undefined || value === '') return;
  setMember(properties, Object.hasOwn(properties, name) ? `amplitude_${column}` : name, value);
}

function isEmptyObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  for (const _ in value) return false;
  return true;
}

const nativeSystems = new Map([
  ['ios', 'iOS'],
  ['ipados', 'iPadOS'],
  ['android', 'Android'],
  ['tvos', 'tvOS'],
  ['watchos', 'watchOS'],
]);

/** In a browser `os_name` is the browser and `device_type` the system; in an app they are the system and the model. */
function addDevice(record: Json, properties: Properties, kindOfDevice: KindOfDevice): void {
  const { os_name: name, os_version: version, device_type: device, device_id: deviceId, language } = record;
  put(properties, '$device_id', 'device_id', deviceId);
  put(properties, '$amplitude_device_id', 'device_id', deviceId);
  const system = typeof name === 'string' ? nativeSystems.get(name.toLowerCase()) : undefined;
  if (system === undefined) {
    put(properties, '$browser', 'os_name', name);
    put(properties, '$browser_version', 'os_version', version);
    put(properties, '$os', 'device_type', device);
    put(properties, '$browser_language', 'language', language);
  } else {
    put(properties, '$os', 'os_name', system);
    put(properties, '$os_version', 'os_version', version);
    put(properties, '$device_name', 'device_type', device);
    put(properties, '$locale', 'language', language);
  }
  put(properties, '$device_type', 'device_type', deviceType(device, system, kindOfDevice));
}

const desktop = /windows|mac|linux|chrome ?os|cros/i;
const tablet = /ipad|tablet|\btab\b/i;
const mobile = /ios|android|iphone|ipod|phone|mobile/i;
const knownDevicesMax = 5000;

function deviceType(device: unknown, system: string | undefined, kindOfDevice: KindOfDevice): string | undefined {
  if (system === 'tvOS') return 'TV';
  if (system === 'iPadOS') return 'Tablet';
  if (typeof device !== 'string') return system === undefined ? undefined : 'Mobile';
  return kindOfDevice(device) ?? (system === undefined ? undefined : 'Mobile');
}

type KindOfDevice = (device: string) => string | undefined;

/** Remembers: an export names few devices, each of them often. */
function createDeviceKinds(): KindOfDevice {
  const known = new Map<string, string | undefined>();
  return (device) => {
    if (!known.has(device)) {
      if (known.size >= knownDevicesMax) known.clear();
      known.set(device, readKind(device));
    }
    return known.get(device);
  };
}

function readKind(device: string): string | undefined {
  if (tablet.test(device)) return 'Tablet';
  if (mobile.test(device)) return 'Mobile';
  return desktop.test(device) ? 'Desktop' : undefined;
}
