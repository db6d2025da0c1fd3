import { bytesOfBase64 } from '../base64.ts';
import { callLater } from '../call-later.ts';
import type { LazyDeps } from '../modules.ts';
import { toPayload } from '../wire.ts';

interface Answer {
  readonly command: string;
  readonly rowCount: number | null;
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
  readonly rows: readonly (readonly unknown[])[];
}

type Outcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly name: string; readonly message: string; readonly details: Record<string, string> };

export type Callback = (error: unknown, result?: unknown) => unknown;

export function isCallback(value: unknown): value is Callback {
  return typeof value === 'function';
}

/** Returns a promise, or calls the callback. */
export function answered<T>(work: Promise<T>, callback: Callback | undefined): Promise<T> | undefined {
  if (callback === undefined) return work;
  void callLater(callback, () => work);
  return undefined;
}

/** The connections outside the isolate. */
export interface PostgresWire {
  connect(options: unknown): Promise<unknown>;
  query(connection: unknown, text: unknown, values: readonly unknown[] | undefined): Promise<unknown>;
  end(connection: unknown): Promise<unknown>;
}

export function createPostgresWire({ bridge, Buffer }: LazyDeps): PostgresWire {
  const ask = async (op: string, ...args: readonly unknown[]): Promise<unknown> => {
    const outcome = (await bridge.call(`pg.${op}`, args)) as Outcome;
    if (outcome.ok) return outcome.value;
    const error = new Error(outcome.message);
    error.name = outcome.name;
    throw Object.assign(error, outcome.details);
  };
  const read = createReader((base64) => Buffer.from(bytesOfBase64(base64).buffer));
  return {
    // Functions and class instances cannot cross.
    connect: (options) => ask('connect', JSON.parse(JSON.stringify(options))),
    query: async (connection, given, values) => {
      const query = queryOf(given, values);
      return read((await ask('query', connection, query.text, query.values)) as readonly Answer[], query.asArrays);
    },
    end: (connection) => ask('end', connection),
  };
}

interface Query {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly asArrays: boolean;
}

function queryOf(given: unknown, values: readonly unknown[] | undefined): Query {
  const config: Readonly<Record<string, unknown>> =
    typeof given === 'object' && given !== null ? Object.fromEntries(Object.entries(given)) : { text: given };
  const own: readonly unknown[] = Array.isArray(config['values']) ? config['values'] : [];
  return {
    text: String(config['text']),
    values: (values ?? own).map(plainValue),
    asArrays: config['rowMode'] === 'array',
  };
}

/** Converts values as pg sends them: times and objects as text, bytes as bytes, lists unchanged. */
function plainValue(value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return toPayload(value);
  if (typeof value === 'bigint') return String(value);
  return typeof value === 'object' && !Array.isArray(value) ? JSON.stringify(value) : value;
}

/** date, timestamp, timestamptz */
const timeTypes = new Set([1082, 1114, 1184]);
const bytesType = 17;

function createReader(bytes: (base64: string) => unknown) {
  const valueOf = (value: unknown, type: number): unknown => {
    if (typeof value === 'string' && timeTypes.has(type)) return new Date(value);
    const isBytes = type === bytesType && typeof value === 'object' && value !== null && 'base64' in value;
    return isBytes ? bytes(String(value.base64)) : value;
  };
  const result = ({ rows, fields, ...about }: Answer, asArrays: boolean): unknown => {
    const lists = rows.map((row) => row.map((value, at) => valueOf(value, fields[at]?.dataTypeID ?? 0)));
    const objects = (): unknown[] =>
      lists.map((row) => Object.fromEntries(row.map((value, at) => [fields[at]?.name ?? String(at), value])));
    return { ...about, fields, rows: asArrays ? lists : objects() };
  };
  return (answers: readonly Answer[], asArrays: boolean): unknown => {
    const results = answers.map((answer) => result(answer, asArrays));
    return results.length === 1 ? results[0] : results;
  };
}
