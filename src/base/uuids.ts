const canonicalForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Matches a UUID as users and libraries write it: dashed or as 32 digits, optionally with `urn:uuid:` or braces, in any case,
 * with surrounding white space. Without a flag, since it is also part of a JSON Schema.
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

/** Returns the canonical spelling of a UUID: dashed, in lower case. `undefined` if the value is not a UUID. */
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
