import { isJsonObject, scalarText, type JsonObject } from './json-value.ts';

const charsMax = 200;

/** Formats properties as one line: those set by the sender first, those added by libraries (`$…`) last. */
export function oneLine(properties: JsonObject): string {
  const names = Object.keys(properties);
  const ordered = [...names.filter((name) => !name.startsWith('$')), ...names.filter((name) => name.startsWith('$'))];
  let line = '';
  for (const name of ordered) {
    if (line.length > charsMax) return `${line.slice(0, charsMax)}…`;
    line += `${line === '' ? '' : ', '}${name}: ${valueText(properties[name])}`;
  }
  return line;
}

/** Formats a value for a cell: strings without quotes, objects and arrays as JSON. */
export function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  return isJsonObject(value) || Array.isArray(value) ? JSON.stringify(value) : scalarText(value);
}
