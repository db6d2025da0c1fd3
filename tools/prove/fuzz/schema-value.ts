import * as fc from 'fast-check';
import type { Draw } from '../../../test/support/draw.ts';
import type { Schema, Parameter } from './operations.ts';
import type { World } from './request.ts';
import { unusualJson } from './unusual-json.ts';

/** Addresses where nothing listens: generated requests reach no other machine. */
const addresses = [
  'http://127.0.0.1:1/x',
  'https://nowhere.invalid/',
  'http://[::1]:1/',
  'http://169.254.169.254/',
  'ftp://x',
];
const times = [
  '2026-01-31T10:00:00Z',
  '2190-01-31T10:00:00Z',
  '2026-11-01',
  '1970-01-01T00:00:00Z',
  '2026-03-29T02:30:00+01:00',
];
const texts = [
  'a',
  'plan',
  'steady',
  ' x ',
  'é',
  '😀',
  '%',
  '_',
  "o'clock",
  '"',
  '\\',
  '<b>',
  'a,b',
  '0',
  '-1',
  'x'.repeat(400),
];
const zones = ['UTC', 'Europe/Paris', 'America/Argentina/Buenos_Aires', 'Mars/Base'];
const filters = ['[]', '[{"key":"plan","value":"pro"}]', '[{"key":"a","operator":"is_set"}]', '[{"key":1}]', '{}'];

const oddTexts = ['', '0', '-1', '1e3', '99999999999999999999', "'", '%', '\0', 'é', 'null', '../x', '1 OR 1=1'];

const matching = new Map<string, readonly string[]>();

/** JSON that the schema permits, mostly; here and there something else in its place, in a share of `unusualShare` of the places. */
export function jsonFor(draw: Draw, world: World, schema: Schema, unusualShare: number, name = ''): string {
  if (draw.chance(unusualShare)) return unusualJson(draw);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return JSON.stringify(draw.pick(schema.enum));
  const choices = schema.type === undefined ? (schema.anyOf ?? schema.oneOf) : undefined;
  if (choices !== undefined) return jsonFor(draw, world, draw.pick(choices), unusualShare, name);
  switch (schema.type) {
    case 'integer':
    case 'number':
      return numberFor(draw, world, schema, name);
    case 'boolean':
      return draw.pick(['true', 'false']);
    case 'null':
      return 'null';
    case 'string':
      return JSON.stringify(textFor(draw, schema, name));
    case 'array':
      return `[${Array.from({ length: draw.int(4) }, () => jsonFor(draw, world, schema.items ?? {}, unusualShare)).join(',')}]`;
    case 'object':
      return objectFor(draw, world, schema, unusualShare);
    default:
      return unusualJson(draw, 2);
  }
}

function objectFor(draw: Draw, world: World, schema: Schema, unusualShare: number): string {
  const { properties = {}, required = [] } = schema;
  const members = Object.entries(properties)
    .filter(([name]) => (required.includes(name) ? !draw.chance(unusualShare) : draw.chance(0.4)))
    .map(([name, field]) => `${JSON.stringify(name)}:${jsonFor(draw, world, field, unusualShare, name)}`);
  if (draw.chance(unusualShare)) members.push(`${draw.pick(['"__proto__"', '"x"', '"id"'])}:${unusualJson(draw)}`);
  return `{${members.join(',')}}`;
}

function numberFor(draw: Draw, world: World, { minimum = 0, maximum = 1000 }: Schema, name: string): string {
  if (name === 'plugin') return String(draw.pick(world.pluginIds));
  return String(minimum + draw.int(Math.min(maximum - minimum + 1, draw.chance(0.8) ? 40 : 2 ** 31)));
}

function textFor(draw: Draw, { format, pattern }: Schema, name: string): string {
  if (name === 'url' || name === 'npm' || name.endsWith('_url')) return draw.pick(addresses);
  if (format === 'uuid') return draw.uuid();
  if (format === 'date-time' || format === 'date') return draw.pick(times);
  if (format === 'iana-time-zone') return draw.pick(zones);
  if (format === 'property-filters') return draw.pick(filters);
  return draw.pick(pattern === undefined ? texts : matchesOf(pattern));
}

/** A few texts that a pattern takes, always the same ones. */
function matchesOf(pattern: string): readonly string[] {
  const known = matching.get(pattern);
  if (known !== undefined) return known;
  const made = fc.sample(fc.stringMatching(new RegExp(pattern)), { numRuns: 20, seed: 7 });
  matching.set(pattern, made);
  return made;
}

/** The text of a parameter, not yet escaped. Ids are small, so that they often are those of records that are there. */
export function parameterFor(draw: Draw, world: World, { name, schema }: Parameter, unusualShare: number): string {
  if (name === 'project_id') return draw.chance(unusualShare) ? draw.pick(oddTexts) : String(world.playgroundId);
  if (draw.chance(unusualShare)) return draw.pick([...oddTexts, '@current']);
  // The first user and the first key are those that make the requests.
  if (name === 'user_id') return String(2 + draw.int(20));
  if (schema.type === 'integer' && !['limit', 'offset'].includes(name)) return String(1 + draw.int(60));
  if (name === 'slug') return draw.pick(['mixpanel', 'amplitude', 'heap', 'nope']);
  if (name === 'id' || name === 'uuid' || name === 'run')
    return draw.chance(0.5) ? String(2 + draw.int(40)) : draw.uuid();
  const json = jsonFor(draw, world, schema, 0, name);
  return json.startsWith('"') ? String(JSON.parse(json)).toWellFormed() : json;
}
