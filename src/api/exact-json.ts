/** Parts of JSON that the type library does not know yet (ECMAScript 2026); Node has them since version 21. */
interface SourceTextJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  /** A number that JSON.stringify writes as this very text. */
  rawJSON(text: string): unknown;
}
const json = JSON as unknown as SourceTextJson;

/** Many digits or an exponent: a JavaScript number may not hold it exactly. */
const numberAtRisk = /\d[\d.]{15}|(?:^|[:,[\s])-?\d[\d.]*[eE]/;

/**
 * As JSON.parse, for values that go out through JSON.stringify again: a number that JavaScript would change keeps its
 * text, so that 12345678901234567890 and 1e999 leave as they came. Do not calculate with the result.
 */
export function parseExact(text: string): unknown {
  if (!numberAtRisk.test(text)) return JSON.parse(text);
  return json.parse(text, (_key, value, { source }) => {
    if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
    return json.rawJSON(source);
  });
}
