import { canonicalUuid } from './uuids.ts';

/** Values used where an id is missing: words of programs and forms for "nothing", placeholders for a user, or the field's name. */
export const placeholderIds: readonly string[] = [
  ['null', 'nil', '<nil>', 'undefined', 'none', 'nan', 'n/a', 'na', 'unknown', '0', '-1', 'true', 'false'],
  ['[object Object]', '[]', '{}'],
  ['anon', 'anonymous', 'anonymous-user', 'guest', 'not_authenticated'],
  ['distinctid', 'distinct_id', 'email', 'id'],
].flat();

/** In canonical spelling. */
export const placeholderUuid = '00000000-0000-0000-0000-000000000000';

const inLowerCase = new Set(placeholderIds.map((id) => id.toLowerCase()));
const charsMax = Math.max(...placeholderIds.map((id) => id.length));
/** An object or a list given as an id is stored as its JSON text, truncated like other ids. */
const jsonStart = /^(?:\{\s*(?:"|\})|\[\s*(?:[[{"\]]|(?:-?\d[\d.eE+-]*|true|false|null)\s*[,\]]))/;
/** Including surrounding white space and quotes; longer texts are ids. */
const textCharsMax = 100;

/**
 * Whether an id does not identify a person: ignoring case, blank, or with surrounding white space and quotes. Many users share
 * such an id, so nothing is identified, linked or merged by it.
 */
export function isPlaceholderId(id: string): boolean {
  if (id.length > textCharsMax) return id.trim() === '' || jsonStart.test(id);
  const text = bare(id);
  if (jsonStart.test(text)) return true;
  if (text.length <= charsMax) return text === '' || inLowerCase.has(text.toLowerCase());
  return text.startsWith('0', startOfDigits(text)) && canonicalUuid(text) === placeholderUuid;
}

function startOfDigits(text: string): number {
  const first = text.charCodeAt(0);
  if (first === 0x7b) return 1;
  // urn:uuid:
  return first === 0x75 || first === 0x55 ? (text[9] === '{' ? 10 : 9) : 0;
}

function bare(id: string): string {
  let text = id.trim();
  while (text.length >= 2 && isQuote(text.charCodeAt(0)) && text.at(-1) === text[0]) text = text.slice(1, -1).trim();
  return text;
}

function isQuote(unit: number): boolean {
  return unit === 0x22 || unit === 0x27 || unit === 0x60;
}
