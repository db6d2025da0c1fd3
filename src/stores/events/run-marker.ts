import { isObject } from '../../base/json.ts';

/** Property with the import run that stored the event. */
const key = '"$import_run_id"';
const mark = `${key}:"`;
const keyBytes = Buffer.from(key);
const markBytes = Buffer.from(mark);
const idBytesMax = 100;

const quote = 0x22;
const comma = 0x2c;
const openObject = 0x7b;
const backslash = 0x5c;
const closeObject = 0x7d;

/**
 * Returns the run named by properties, as stored in the column `import_run`; empty if none. Imported events end with it. In
 * historical events (`isHistorical`) it may be elsewhere, if a transformation rewrote them. `properties` is the JSON of an object.
 */
export function runOfProperties(properties: string, isHistorical: boolean): string {
  const end = properties.length - 2;
  if (properties.endsWith('"}')) {
    const from = properties.lastIndexOf('"', end - 1) + 1;
    const id = properties.slice(from, end);
    const isMember =
      properties.startsWith(mark, from - mark.length) && /[,{]/.test(properties.charAt(from - mark.length - 1));
    if (isMember && id !== '' && !id.includes('\\') && Buffer.byteLength(id) <= idBytesMax) return id;
  }
  return isHistorical && properties.includes(key) ? parsedRun(properties) : '';
}

/** Does the same for bytes. Returns where the id begins if it is at the end (two bytes before it), otherwise its text. */
export function findRun(json: Buffer, propsFrom: number, propsTo: number, isHistorical: boolean): number | string {
  const end = propsTo - 2;
  if (json[propsTo - 1] === closeObject && json[end] === quote) {
    const first = Math.max(propsFrom + markBytes.length + 1, end - idBytesMax);
    let from = end;
    while (from > first && json[from - 1] !== quote && json[from - 1] !== backslash) from--;
    const before = json[from - markBytes.length - 1];
    const isMember = from < end && (before === comma || before === openObject);
    if (isMember && json.compare(markBytes, 0, markBytes.length, from - markBytes.length, from) === 0) return from;
  }
  if (!isHistorical) return '';
  const properties = json.subarray(propsFrom, propsTo);
  return properties.includes(keyBytes) ? parsedRun(properties.toString()) : '';
}

function parsedRun(properties: string): string {
  const parsed: unknown = JSON.parse(properties);
  return isObject(parsed) ? runOfObject(parsed) : '';
}

/** Does the same for parsed properties of a historical event. */
export function runOfObject(properties: Readonly<Record<string, unknown>>): string {
  const run = properties['$import_run_id'];
  return typeof run === 'string' ? run : '';
}
