const canonicalForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const anyForm =
  /^\s*(?:urn:uuid:)?(?:([0-9a-f]{8})(-?)([0-9a-f]{4})\2([0-9a-f]{4})\2([0-9a-f]{4})\2([0-9a-f]{12})|\{([0-9a-f]{8})(-?)([0-9a-f]{4})\8([0-9a-f]{4})\8([0-9a-f]{4})\8([0-9a-f]{12})\})\s*$/i;

/** Longer texts are not looked at: no spelling has so many characters but for white space. */
const textCharsMax = 200;

/**
 * The one spelling in which a UUID is stored and shown: dashed, in lower case. Undefined: the text is none. Read are dashed texts,
 * 32 digits, either of them behind `urn:uuid:` or in braces, in any case, with white space around them.
 */
export function canonicalUuid(text: string): string | undefined {
  if (text.length === 36 && canonicalForm.test(text)) return text;
  if (text.length < 32 || text.length > textCharsMax) return undefined;
  const parts = anyForm.exec(text);
  if (parts === null) return undefined;
  const [, a, , b, c, d, e, f, , g, h, i, j] = parts;
  const found = a === undefined ? [f, g, h, i, j] : [a, b, c, d, e];
  return found.join('-').toLowerCase();
}
