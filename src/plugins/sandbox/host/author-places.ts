import { originsOf, type FindOrigin } from '../../../base/inline-source-map.ts';
import { SandboxError } from '../sandbox.ts';
import { scriptName } from '../wire/script-name.ts';

/** Makes of a text with stacks of a plugin one that names files and lines as its author wrote them. */
export type AuthorPlaces = (text: string) => string;

const place = new RegExp(String.raw`\b${scriptName.replace('.', String.raw`\.`)}:(\d+):(\d+)`, 'g');
const textLengthMax = 8_000;

/** `code`: as it was installed; one without a map leaves everything as it is. */
export function createAuthorPlaces(code: string): AuthorPlaces {
  let origins: FindOrigin | undefined;
  let isRead = false;
  const originOf = (shown: string, line: string, column: string): string => {
    // Most plugins never fail: what is needed for one that does waits until then.
    if (!isRead) origins = originsOf(code);
    isRead = true;
    // The guest puts a semicolon before the first line.
    const shift = line === '1' ? 1 : 0;
    return origins?.(Number(line), Number(column) - shift) ?? shown;
  };
  return (text) => {
    if (!text.includes(scriptName)) return text;
    const lines = text.split('\n').map((line) => (/^ +at /.test(line) ? line.replace(place, originOf) : line));
    return lines.join('\n').slice(0, Math.max(text.length, textLengthMax));
  };
}

/** The error with the places of its author. */
export function withAuthorPlaces(error: SandboxError, places: AuthorPlaces): SandboxError {
  const { kind, message, method, errorName, pluginStack, retry } = error;
  const stack = places(pluginStack);
  if (stack === pluginStack) return error;
  return new SandboxError(kind, message, { method, errorName, pluginStack: stack, retry });
}
