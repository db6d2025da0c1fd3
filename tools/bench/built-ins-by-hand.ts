import { isIPv4 } from 'node:net';
import type { TransformEvent } from '../../src/plugins/plugin.ts';
import { isObject, type JsonObject } from '../../src/base/json.ts';

/**
 * What the ten built-ins of the bench do with the settings given there, written out for these events and nothing else: the
 * code that a user would write for exactly this purpose. Null: dropped.
 */
export function transformByHand(event: TransformEvent): TransformEvent | null {
  const { properties } = event;
  const host = properties['$host'];
  if (host === 'localhost' || host === 'staging.example.com') return null;
  event.event = snakeCase(event.event);
  if (properties['Plan Name'] !== undefined) {
    const plan = properties['Plan Name'];
    delete properties['Plan Name'];
    properties['plan'] = plan;
  }
  changeUrl(properties);
  delete properties['token'];
  const { address } = properties;
  if (isObject(address)) delete address['street'];
  splitVersion(properties);
  writeTime(properties, event.timestamp);
  const ip = properties['$ip'];
  if (typeof ip === 'string' && isIPv4(ip)) properties['$ip'] = `${ip.slice(0, ip.lastIndexOf('.'))}.0`;
  removeNulls(properties);
  return event;
}

const names = new Map<string, string>();

function snakeCase(name: string): string {
  if (name.startsWith('$')) return name;
  let result = names.get(name);
  if (result === undefined) {
    result = name
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .replace(/[_\-. ]+/g, '_');
    names.set(name, result);
  }
  return result;
}

function changeUrl(properties: JsonObject): void {
  const url = properties['$current_url'];
  if (typeof url !== 'string') return;
  takeCampaign(properties, url);
  const lower = URL.parse(url.toLowerCase());
  if (lower === null) return;
  if (lower.pathname.endsWith('/')) lower.pathname = lower.pathname.slice(0, -1);
  properties['$current_url'] = lower.href;
}

function takeCampaign(properties: JsonObject, url: string): void {
  const [, query] = (url.split('#', 1)[0] ?? '').split('?', 2);
  if (query === undefined) return;
  const parameters = new URLSearchParams(query);
  for (const name of ['utm_source', 'utm_campaign']) {
    const value = parameters.get(name);
    if (value === null) continue;
    properties[name] = value;
    const first = (properties['$set_once'] ??= {});
    if (isObject(first)) first[`initial_${name}`] = value;
  }
}

function splitVersion(properties: JsonObject): void {
  const version = properties['$app_version'];
  if (typeof version !== 'string') return;
  const match = /^(\d+)\.(\d+)\.(\d+)$/.exec(version);
  if (match === null) return;
  properties['$app_version__major'] = Number(match[1]);
  properties['$app_version__minor'] = Number(match[2]);
  properties['$app_version__patch'] = Number(match[3]);
}

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

function writeTime(properties: JsonObject, timestamp: string): void {
  const date = new Date(timestamp);
  properties['day_of_the_week'] = days[date.getUTCDay()] ?? '';
  properties['day'] = date.getUTCDate();
  properties['month'] = date.getUTCMonth() + 1;
  properties['year'] = date.getUTCFullYear();
  properties['hour'] = date.getUTCHours();
  properties['minute'] = date.getUTCMinutes();
}

function removeNulls(holder: JsonObject): void {
  for (const key of Object.keys(holder)) {
    const value = holder[key];
    if (value === null) delete holder[key];
    else if (isObject(value)) removeNulls(value);
  }
}
