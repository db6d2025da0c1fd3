const canonicalForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * A UUID as people and libraries write it: dashed or as 32 digits, either behind `urn:uuid:` or in braces, in any case, with white space
 * around it. Without a flag, since it is also part of a JSON Schema.
 */
export const uuidPattern = (() => {
  const hex = (digits: number): string => `[0-9a-fA-F]{${digits}}`;
  const bare = `(?:${hex(32)}|${hex(8)}(?:-${hex(4)}){3}-${hex(12)})`;
  return `^\\s*(?:[uU][rR][nN]:[uU][uU][iI][dD]:)?(?:${bare}|\\{${bare}\\})\\s*$`;
})();
const anySpelling = new RegExp(uuidPattern);
const digitsMin = 32;
/** `urn:uuid:{…}` with dashes. */
const spellingCharsMax = 47;

/** The one spelling in which a UUID is stored and shown: dashed, in lower case. Undefined: the value is none. */
export function canonicalUuid(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length < digitsMin) return undefined;
  if (value.length === 36 && canonicalForm.test(value)) return value;
  const text = value.trim();
  if (text.length > spellingCharsMax || !anySpelling.test(text)) return undefined;
  const digits = text
    .slice(text.lastIndexOf(':') + 1)
    .replaceAll(/[-{}]/g, '')
    .toLowerCase();
  return [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)].join(
    '-',
  );
}
