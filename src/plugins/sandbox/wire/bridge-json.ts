/**
 * Values that cross between an isolate and the process: JSON, in which bytes are special objects. The first character says whether
 * there are any: `j` none, `b` some. Runs on both sides, so the base64 functions are parameters.
 */
const bytesKey = '$bytes';

const { parse, stringify } = JSON;

export function encodeBridge(value: unknown, toBase64: (bytes: Uint8Array) => string): string {
  let some = false;
  function replace(this: unknown, key: string, given: unknown): unknown {
    // Buffers have a toJSON, whose result is `given`.
    const raw = (this as Record<string, unknown>)[key];
    if (!(raw instanceof Uint8Array)) return given;
    some = true;
    return { [bytesKey]: toBase64(raw) };
  }
  const text = stringify(value === undefined ? null : value, replace);
  return (some ? 'b' : 'j') + (text ?? 'null');
}

/** @throws SyntaxError for text that encodeBridge did not write */
export function decodeBridge(text: string, fromBase64: (text: string) => Uint8Array): unknown {
  const json = text.slice(1);
  if (text.startsWith('j')) return parse(json);
  if (!text.startsWith('b')) throw new SyntaxError('expected a value of the bridge');
  return parse(json, (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null) return value;
    const base64 = (value as Record<string, unknown>)[bytesKey];
    return typeof base64 === 'string' ? fromBase64(base64) : value;
  });
}
