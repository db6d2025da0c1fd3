import { isJsonObject, scalarText, type JsonObject } from './json-value.ts';

const charsMax = 200;

/** Properties in one line: what the sender set first, what libraries add (`$…`) behind. */
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

/** A value in a cell: texts without quotes, what holds others as JSON. */
export function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  return isJsonObject(value) || Array.isArray(value) ? JSON.stringify(value) : scalarText(value);
}
