import type { NameTable } from '../format.ts';
import type { Names } from '../names.ts';
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
  const table = columnNames(names);
  const systemOf = createSystems();
  return (record, properties) => {
    for (const column of Object.keys(record)) {
      const value = record[column];
      if (value === null || value === '' || value === undefined) continue;
      const name = table.get(column);
      if (name === null || isEmptyObject(value)) continue;
      put(properties, name ?? column, column, value);
    }
    const { os_name: name, os_version: version, device_type: device, device_id: deviceId, language } = record;
    const ofDevice = [...deviceIdProperties(deviceId), ...systemOf({ name, version, device, language })];
    for (const [property, column, value] of ofDevice) put(properties, property, column, value);
  };
}

/** Property of each column; null: none, or not by the table. */
export function columnNames(names: NameTable): Names {
  const table = new Map<string, string | null>(special.map((column) => [column, null]));
  for (const [key, name] of Object.entries(names.properties)) {
    if (key.startsWith('column:')) table.set(key.slice('column:'.length), name);
  }
  return table;
}

/** A property, the column that it comes from, and its value, which may be none. */
export type ColumnProperty = readonly [property: string, column: string, value: unknown];

export function deviceIdProperties(deviceId: unknown): readonly ColumnProperty[] {
  return [
    ['$device_id', 'device_id', deviceId],
    ['$amplitude_device_id', 'device_id', deviceId],
  ];
}

/** Those that say something, in an event that has none of them yet. */
export function propertiesOf(found: readonly ColumnProperty[]): Properties {
  const properties: Properties = {};
  for (const [property, column, value] of found) put(properties, property, column, value);
  return properties;
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

/** What the columns say of the system: `os_name`, `os_version`, `device_type` and `language`. */
export interface SystemColumns {
  readonly name: unknown;
  readonly version: unknown;
  readonly device: unknown;
  readonly language: unknown;
}

/** In a browser `os_name` is the browser and `device_type` the system; in an app they are the system and the model. */
export function createSystems(): (columns: SystemColumns) => readonly ColumnProperty[] {
  const kindOfDevice = createDeviceKinds();
  return ({ name, version, device, language }) => {
    const system = typeof name === 'string' ? nativeSystems.get(name.toLowerCase()) : undefined;
    const type: ColumnProperty = ['$device_type', 'device_type', deviceType(device, system, kindOfDevice)];
    if (system === undefined) {
      return [
        ['$browser', 'os_name', name],
        ['$browser_version', 'os_version', version],
        ['$os', 'device_type', device],
        ['$browser_language', 'language', language],
        type,
      ];
    }
    return [
      ['$os', 'os_name', system],
      ['$os_version', 'os_version', version],
      ['$device_name', 'device_type', device],
      ['$locale', 'language', language],
      type,
    ];
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
