import type { TSchema } from 'typebox';

export type Json = Readonly<Record<string, unknown>>;

/** Additional paths and schemas besides the routes of the management API. */
export interface Described {
  readonly tags: readonly string[];
  readonly paths: Readonly<Record<string, Record<string, Json>>>;
  readonly securitySchemes: Json;
  readonly schemas: Json;
}

/** The parts of JSON Schema that the OpenAPI builder reads. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
}

/** Returns the schema as plain JSON, with `stated` keywords merged in. */
export function plainSchema(schema: TSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema), (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null || !('stated' in value)) return value;
    const { stated, ...rest } = value;
    return { ...rest, ...(stated as object) };
  }) as JsonSchema;
}

const byFormat: Readonly<Record<string, string>> = {
  uuid: '0199a7c4-6f3e-7c1a-9d55-2b1f0c6e8a10',
  'date-time': '2026-01-31T12:00:00.000000Z',
  date: '2026-01-31',
  email: 'ada@example.com',
  uri: 'https://example.com',
  'iana-time-zone': 'Europe/Paris',
};

/** Returns a valid value: the schema's example or default if present. */
export function exampleOf(schema: JsonSchema): unknown {
  if (schema.examples?.[0] !== undefined) return schema.examples[0];
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf?.[0] !== undefined) return exampleOf(schema.anyOf[0]);
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, each]) => [name, exampleOf(each)]));
    case 'array':
      return schema.items === undefined ? [] : [exampleOf(schema.items)];
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 1);
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return byFormat[schema.format ?? ''] ?? 'text';
  }
}
