import { distinctIdCharsMax } from './limits.ts';

/** An id as it is stored: at most 200 characters (whole ones), no NUL, no half surrogates. */
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
