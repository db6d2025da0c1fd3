interface RawJson {
  readonly rawJSON: string;
}

/** Source text access in JSON.parse, available in browsers since 2025 and not yet in the TypeScript types. */
interface SourceAwareJson {
  parse(text: string, revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown;
  rawJSON?: (text: string) => RawJson;
  isRawJSON?: (value: unknown) => boolean;
}

const json: SourceAwareJson = JSON as unknown as SourceAwareJson;
const mayHoldBigInteger = /\d{16}/;
const integer = /^-?\d+$/;

/** Parses like JSON.parse, but keeps integers beyond 2^53 digit by digit, both for display and when they are sent back. */
export function parseExact(text: string): unknown {
  const { rawJSON } = json;
  if (rawJSON === undefined || !mayHoldBigInteger.test(text)) return JSON.parse(text);
  return json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && integer.test(source) && !Number.isSafeInteger(value)
      ? rawJSON(source)
      : value,
  );
}

/** Returns the digits of an integer that parseExact kept, or `undefined` for any other value. */
export function exactDigits(value: unknown): string | undefined {
  return json.isRawJSON?.(value) === true ? (value as RawJson).rawJSON : undefined;
}
