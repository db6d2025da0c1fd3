import { canonicalUuid } from './uuids.ts';

/** What stands where an id is missing: words of programs and forms for "nothing", "somebody", or the name of the field. */
export const nobodyIds: readonly string[] = [
  ['null', 'nil', '<nil>', 'undefined', 'none', 'nan', 'n/a', 'na', 'unknown', '0', '-1', 'true', 'false'],
  ['[object Object]', '[]', '{}'],
  ['anon', 'anonymous', 'anonymous-user', 'guest', 'not_authenticated'],
  ['distinctid', 'distinct_id', 'email', 'id'],
].flat();

/** In any spelling of a UUID. */
export const nobodyUuid = '00000000-0000-0000-0000-000000000000';

const inLowerCase = new Set(nobodyIds.map((id) => id.toLowerCase()));
const charsMax = Math.max(...nobodyIds.map((id) => id.length));
/** An object or a list that was given as an id is its JSON text, cut where ids are cut. */
const jsonStart = /^(?:\{\s*(?:"|\})|\[\s*(?:[[{"\]]|(?:-?\d[\d.eE+-]*|true|false|null)\s*[,\]]))/;
/** With white space and quotes around it; longer texts are ids. */
const textCharsMax = 100;

/**
 * Whether an id names nobody in particular, in any case, blank, or with white space and quotes around it. Many share it, so
 * nobody is identified, linked or merged by it.
 */
export function isNobody(id: string): boolean {
  if (id.length > textCharsMax) return id.trim() === '' || jsonStart.test(id);
  const text = bare(id);
  if (jsonStart.test(text)) return true;
  if (text.length <= charsMax) return text === '' || inLowerCase.has(text.toLowerCase());
  return text.startsWith('0', startOfDigits(text)) && canonicalUuid(text) === nobodyUuid;
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
