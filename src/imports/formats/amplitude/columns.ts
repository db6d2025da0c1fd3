import type { NameTable } from '../format.ts';
import type { Names } from '../names.ts';
import { setMember, type Json, type Properties } from '../read-values.ts';

/** Columns with dedicated code: the event name, objects, and columns whose meaning differs between web and apps. */
const special = ['event_type', 'event_properties', 'user_properties', 'groups', 'group_properties', 'device_id'].concat(
  ['os_name', 'os_version', 'device_type', 'language'],
);

/** Maps each column to its property; null for columns with dedicated code or dropped by the table. */
export function columnNames(names: NameTable): Names {
  const table = new Map<string, string | null>(special.map((column) => [column, null]));
  for (const [key, name] of Object.entries(names.properties)) {
    if (key.startsWith('column:')) table.set(key.slice('column:'.length), name);
  }
  return table;
}

export function addDeviceId({ device_id: deviceId }: Json, properties: Properties): void {
  put(properties, '$device_id', 'device_id', deviceId);
  put(properties, '$amplitude_device_id', 'device_id', deviceId);
}

/** Writes the column as `amplitude_x` if the event already has a property of that name. */
function put(properties: Properties, name: string, column: string, value: unknown): void {
  if (value === null || value === undefined || value === '') return;
  setMember(properties, Object.hasOwn(properties, name) ? `amplitude_${column}` : name, value);
}

const nativeSystems = new Map([
  ['ios', 'iOS'],
  ['ipados', 'iPadOS'],
  ['android', 'Android'],
  ['tvos', 'tvOS'],
  ['watchos', 'watchOS'],
]);

/** In a browser `os_name` is the browser and `device_type` the system; in an app they are the system and the model. */
export function createSystemAdder(): (record: Json, properties: Properties) => void {
  const kindOfDevice = createDeviceKinds();
  return ({ os_name: name, os_version: version, device_type: device, language }, properties) => {
    const system = typeof name === 'string' ? nativeSystems.get(name.toLowerCase()) : undefined;
    const isNative = system !== undefined;
    put(properties, isNative ? '$os' : '$browser', 'os_name', system ?? name);
    put(properties, isNative ? '$os_version' : '$browser_version', 'os_version', version);
    put(properties, isNative ? '$device_name' : '$os', 'device_type', device);
    put(properties, isNative ? '$locale' : '$browser_language', 'language', language);
    put(properties, '$device_type', 'device_type', deviceType(device, system, kindOfDevice));
  };
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

/** Remembers results: an export contains few different devices, each many times. */
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
