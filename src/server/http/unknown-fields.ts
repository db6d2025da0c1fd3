import { nearest } from '../../base/nearest.ts';

/** Header of operations that name ignored fields, as described in OpenAPI. */
export const unknownFieldsHeader = {
  'X-Warning':
    'Present when the body held fields that were ignored because nothing has their name, or they cannot be set here. Names them, and ' +
    'the fields that the operation takes.',
} as const;

const namesMax = 5;
const nameLettersMax = 60;

/**
 * Returns a warning about ignored fields. A misspelt field that limits access would otherwise leave the access wider than intended.
 * Fields of the response are accepted, because a record can be sent back as it was read, unless their values differ.
 */
export function unknownFieldsHeaders(body: unknown, taken: readonly string[], answer: unknown): Record<string, string> {
  const record = recordOf(answer);
  const unknown = Object.entries(recordOf(body))
    .filter(([name, value]) => !taken.includes(name) && !isSentBack(value, record[name]))
    .map(([name]) => name);
  if (unknown.length === 0) return {};
  const named = unknown.slice(0, namesMax).map((name) => describeName(name, taken));
  const more = unknown.length > namesMax ? ` and ${unknown.length - namesMax} more` : '';
  const known = taken.length === 0 ? 'this operation takes no field' : `expected only ${taken.join(', ')}`;
  return { 'x-warning': `ignored ${named.join(', ')}${more}; ${known}` };
}

function isSentBack(value: unknown, shown: unknown): boolean {
  if (shown === undefined) return false;
  if (shown === null) return value === null || (Array.isArray(value) && value.length === 0);
  return !Array.isArray(shown) || JSON.stringify(value) === JSON.stringify(shown);
}

function describeName(name: string, taken: readonly string[]): string {
  const words = name.split('_');
  const meant = nearest(name, taken) ?? taken.find((field) => field.split('_').some((word) => words.includes(word)));
  const text = asciiOf(JSON.stringify(name.slice(0, nameLettersMax)));
  return meant === undefined ? text : `${text} (did you mean ${JSON.stringify(meant)}?)`;
}

/** Headers can only contain ASCII. */
function asciiOf(text: string): string {
  return text.replace(/[^ -~]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  // Sound: an object that is not an array has fields by name.
  return isRecord ? (value as Record<string, unknown>) : {};
}
