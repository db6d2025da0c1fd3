import { distinctIdCharsMax } from './limits.ts';

/** Converts an id to its stored form: at most 200 whole characters, without NUL and lone surrogates. */
export function storedId(text: string): string {
  const clean = (text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text).toWellFormed();
  if (clean.length <= distinctIdCharsMax) return clean;
  let units = 0;
  let characters = 0;
  for (const character of clean) {
    if (characters === distinctIdCharsMax) return clean.slice(0, units);
    units += character.length;
    characters += 1;
  }
  return clean;
}
