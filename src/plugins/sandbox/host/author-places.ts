import { originsOf, type FindOrigin } from '../../../base/inline-source-map.ts';
import { SandboxError } from '../sandbox.ts';
import { scriptName } from '../wire/script-name.ts';

/** Rewrites positions in a plugin's stack traces to the author's files and lines. */
export type AuthorPlaces = (text: string) => string;

const place = new RegExp(String.raw`\b${scriptName.replace('.', String.raw`\.`)}:(\d+):(\d+)`, 'g');
const textLengthMax = 8_000;

/** `code` is the installed script; without a source map all text stays unchanged. */
export function createAuthorPlaces(code: string): AuthorPlaces {
  let origins: FindOrigin | undefined;
  let isRead = false;
  const originOf = (shown: string, line: string, column: string): string => {
    // The map is parsed for the first error only, because most plugins never fail.
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

/** Returns the error with the author's positions. */
export function withAuthorPlaces(error: SandboxError, places: AuthorPlaces): SandboxError {
  const { kind, message, method, errorName, pluginStack, retry } = error;
  const stack = places(pluginStack);
  if (stack === pluginStack) return error;
  return new SandboxError(kind, message, { method, errorName, pluginStack: stack, retry });
}
