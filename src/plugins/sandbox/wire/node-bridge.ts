import { decodeBridge, encodeBridge } from './bridge-json.ts';

/** bridge-json outside isolates. */
export function encodeNode(value: unknown): string {
  return encodeBridge(value, (bytes) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'),
  );
}

export function decodeNode(text: string): unknown {
  return decodeBridge(text, (base64) => Buffer.from(base64, 'base64'));
}

/** Returns JSON of name, message, code and retry; no stack, which would reveal this side. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return JSON.stringify({ name: 'Error', message: String(error) });
  const { name, message, code, retry } = error as Error & { code?: unknown; retry?: unknown };
  return JSON.stringify({
    name,
    message: message.slice(0, 4000),
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof retry === 'boolean' ? { retry } : {}),
  });
}
