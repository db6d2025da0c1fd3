interface RawJson {
  readonly rawJSON: string;
}

/** What browsers of 2025 and later have and the types do not know yet. */
interface SourceAwareJson {
  parse(text: string, revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown;
  rawJSON?: (text: string) => RawJson;
  isRawJSON?: (value: unknown) => boolean;
}

const json: SourceAwareJson = JSON as unknown as SourceAwareJson;
const mayHoldBigInteger = /\d{16}/;
const integer = /^-?\d+$/;

/** As JSON.parse; integers that a number cannot hold stay as they were written, on the page and when they are sent back. */
export function parseExact(text: string): unknown {
  const { rawJSON } = json;
  if (rawJSON === undefined || !mayHoldBigInteger.test(text)) return JSON.parse(text);
  return json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && integer.test(source) && !Number.isSafeInteger(value)
      ? rawJSON(source)
      : value,
  );
}

/** The digits of an integer that parseExact kept; undefined for any other value. */
export function exactDigits(value: unknown): string | undefined {
  return json.isRawJSON?.(value) === true ? (value as RawJson).rawJSON : undefined;
}
