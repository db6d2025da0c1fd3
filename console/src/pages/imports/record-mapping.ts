import { isJsonObject, type JsonObject, sameJson, scalarText } from '../../components/json-value.ts';

/** A field of a record and the event field with the same value; one of them is null if the other has no counterpart. */
export interface MappedField {
  readonly from: string | null;
  readonly to: string | null;
  readonly value: unknown;
}

interface Leaf {
  readonly path: string;
  readonly value: unknown;
}

const leavesMax = 300;
const depthMax = 4;

/**
 * Pairs the fields of a record with those of its event by value. Whole objects and fields with the same name are paired first, so that
 * values that occur several times end up where they belong. Fields of the event come first, then the fields of the record that it lacks.
 */
export function mapFields(record: JsonObject, event: JsonObject): MappedField[] {
  const fields = eventFields(event);
  const objects = objectsOf(record);
  const pairs = new Map<Leaf, Leaf>();
  for (const field of fields) {
    const found = objects.find((object) => hasSameName(object, field) && sameJson(object.value, field.value));
    if (found !== undefined) pairs.set(field, found);
  }
  const whole = [...pairs.values()];
  const isWhole = ({ path }: Leaf): boolean => whole.some((each) => path.startsWith(`${each.path}.`));
  const free = new Set(leavesOf(record).filter((leaf) => !isWhole(leaf)));
  for (const isPair of [hasSameName, (_: Leaf, { path }: Leaf) => !addedByImport.has(path)]) {
    for (const field of fields) {
      if (pairs.has(field)) continue;
      const found = [...free].find((leaf) => isPair(leaf, field) && hasSameValue(leaf, field));
      if (found === undefined) continue;
      pairs.set(field, found);
      free.delete(found);
    }
  }
  return [
    ...fields.map((field) => ({ from: pairs.get(field)?.path ?? null, to: field.path, value: field.value })),
    ...[...free].map(({ path, value }) => ({ from: path, to: null, value })),
  ];
}

/** Properties that every import adds; records have no counterpart. */
const addedByImport: ReadonlySet<string> = new Set(['$geoip_disable', '$import_source', '$import_run_id']);

/** Properties are named without a prefix; nested objects are one value. */
function eventFields({ properties, ...own }: JsonObject): Leaf[] {
  return [...Object.entries(own), ...Object.entries(isJsonObject(properties) ? properties : {})].map(
    ([path, value]) => ({ path, value }),
  );
}

/** Returns the objects within a record, outer ones first. */
function objectsOf(record: JsonObject): Leaf[] {
  const objects: Leaf[] = [];
  const visit = (value: JsonObject, prefix: string, depth: number): void => {
    for (const [key, item] of Object.entries(value)) {
      if (!isJsonObject(item) || objects.length >= leavesMax) continue;
      objects.push({ path: `${prefix}${key}`, value: item });
      if (depth < depthMax) visit(item, `${prefix}${key}.`, depth + 1);
    }
  };
  visit(record, '', 1);
  return objects;
}

function leavesOf(record: JsonObject): Leaf[] {
  const leaves: Leaf[] = [];
  const visit = (value: unknown, path: string, depth: number): void => {
    if (leaves.length >= leavesMax) return;
    if (!isJsonObject(value) || depth >= depthMax) leaves.push({ path, value });
    else for (const [key, item] of Object.entries(value)) visit(item, path === '' ? key : `${path}.${key}`, depth + 1);
  };
  visit(record, '', 0);
  return leaves;
}

function hasSameName(leaf: Leaf, field: Leaf): boolean {
  return leaf.path === field.path || leaf.path.endsWith(`.${field.path}`);
}

function hasSameValue({ value: left }: Leaf, { path, value: right }: Leaf): boolean {
  if (path === 'timestamp') return timeOf(left) !== undefined && timeOf(left) === timeOf(right);
  return sameJson(left, right) || (typeof left !== 'string' && scalarText(left) === right);
}

/** Reads ISO 8601 and Unix time in seconds, milliseconds or microseconds, as ms. */
function timeOf(value: unknown): number | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  const number = typeof value === 'number' || /^\d{10,16}$/.test(value) ? Number(value) : Number.NaN;
  if (Number.isNaN(number)) return Date.parse(String(value)) || undefined;
  if (number < 1e11) return number * 1000;
  return number < 1e14 ? number : Math.floor(number / 1000);
}
