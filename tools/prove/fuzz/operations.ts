import { readFileSync } from 'node:fs';

/** What the OpenAPI document says of one operation, as far as requests are made from it. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | undefined;
  readonly statuses: ReadonlySet<number>;
  /** Whether it needs no key. */
  readonly isPublic: boolean;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

export interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
}

interface DocumentedOperation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema } | undefined>> };
  readonly responses: Readonly<Record<string, unknown>>;
  readonly security?: readonly unknown[];
}

const documentUrl = new URL('../../../docs/reference/openapi.json', import.meta.url);

/** Operations of the management API; capture has separate makers. Live streams are excluded because they have no end. */
export function readOperations(): Operation[] {
  const { paths } = JSON.parse(readFileSync(documentUrl, 'utf8')) as Document;
  return Object.entries(paths)
    .filter(([path]) => path.startsWith('/api/') && !path.endsWith('/live_events'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { parameters = [], requestBody, responses, security }]) => ({
        method: method.toUpperCase(),
        path,
        parameters,
        body: requestBody?.content['application/json']?.schema,
        statuses: new Set(Object.keys(responses).map(Number)),
        isPublic: security?.length === 0,
      })),
    );
}
