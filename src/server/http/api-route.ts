import type { Static, TObject, TSchema } from 'typebox';
import type { Role } from '../../wire/contract/roles.ts';
import type { Scope } from '../../wire/contract/scopes.ts';

/** The caller. A console session has every scope and no rate limit; its user's role limits it, as for keys. */
export type Principal =
  | {
      readonly kind: 'key';
      readonly keyId: string;
      readonly userId: number;
      readonly organizationId: string;
      readonly role: Role;
      readonly scopes: readonly string[];
      /** `null` for every project of the organisation. */
      readonly projectIds: readonly number[] | null;
    }
  | {
      readonly kind: 'session';
      readonly sessionId: string;
      readonly userId: number;
      readonly organizationId: string;
      readonly role: Role;
      /** `null` for every scope. */
      readonly scopes: readonly string[] | null;
    }
  | {
      /** A command on the data directory, see service/store-api.ts. The activity log names the service. */
      readonly kind: 'operator';
      /** The first admin, whose keys the commands manage. */
      readonly userId: number;
      readonly organizationId: string;
      readonly role: 'admin';
    };

/** The project in the path, after the access check. */
export interface ProjectRef {
  readonly id: number;
  readonly uuid: string;
  readonly organizationId: string;
  readonly name: string;
  readonly apiToken: string;
  readonly timezone: string;
}

export interface ApiRequest<Params = unknown, Query = unknown, Body = unknown> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly principal: Principal;
  /** Only for paths with `:project_id`; `project()` throws elsewhere. */
  project(): ProjectRef;
  readonly requestId: string;
  readonly method: string;
  /** Absolute URL of the request without query, as seen by the client (site URL, path as called). */
  readonly url: string;
  /** Query string as sent, without `?`. */
  readonly rawQuery: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Uploaded files of a multipart body by field name; empty otherwise. */
  readonly files: ReadonlyMap<string, UploadedFile>;
  /** Only for routes with an upload: the file as a stream, to be read to its end. */
  readonly upload?: () => Promise<UploadStream>;
  /** Checks access again, for endless responses. @throws ApiError if it was lost */
  readonly checkAgain: () => Promise<void>;
  /** Aborted when the server starts to stop, which ends endless responses. */
  readonly stopping?: AbortSignal;
  /** Returns a signal that is aborted when the client disconnects, for work that only this client needs. */
  readonly gone?: () => AbortSignal;
}

export interface UploadStream {
  /** As in the multipart body. */
  readonly fileName: string | undefined;
  readonly content: AsyncIterable<Buffer>;
}

export interface UploadedFile {
  readonly fileName: string;
  readonly contentType: string;
  readonly content: Uint8Array;
}

export interface ApiReply {
  readonly status: number;
  /**
   * Sent as JSON; a string, bytes or a stream with a content-type header is sent unchanged; `undefined` means no body. A stream is
   * destroyed when the client disconnects.
   */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * One operation of the management API. The same table entry gives the router, the check of key and scope, validation and
 * OpenAPI. Paths are served with and without trailing slash, and under /api/environments/ as well as /api/projects/.
 */
export interface ApiRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Starts with /api/, no trailing slash, `:name` for parameters. With `:project_id` the project is resolved and checked. */
  readonly path: string;
  /** `any-key`: a valid key or session, without a scope. `public`: no authentication. */
  readonly scope: Scope | 'any-key' | 'public';
  /** Lowest role that may call it, if `roleOf` cannot derive it from method and scope. */
  readonly role?: Role;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Path parameters besides project_id. */
  readonly params?: TObject;
  readonly query?: TObject;
  /** Validated after `"5"` → 5 and `"true"` → true where the schema has integer or boolean. Unknown fields are ignored. */
  readonly body?: TSchema;
  /** Instead of `body`: a file of any size, as application/octet-stream or multipart/form-data, which the handler reads. */
  readonly takesUpload?: true;
  /** For access limits: the response names ignored fields of the body, see unknown-fields.ts. */
  readonly namesUnknownFields?: true;
  /** Keeps numbers that JavaScript cannot represent as in base/exact-json.ts: for events, which are stored as sent. */
  readonly keepsDigits?: true;
  /** Media types of a 200 response other than JSON. Default: application/json. */
  readonly mediaTypes?: readonly string[];
  /** A frequent GET, which direct-reads.ts usually answers without the framework. Its response must not be a stream. */
  readonly isReadOften?: true;
  /** By status; `null` for no body. Only success statuses, since errors are the same everywhere. */
  readonly responses: Readonly<Record<number, TSchema | null>>;
  /** Descriptions of response headers by name, for OpenAPI. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
  readonly handler: (request: ApiRequest) => Promise<ApiReply>;
}

type TypedRoute<P extends TObject, Q extends TObject, B extends TSchema> = Omit<
  ApiRoute,
  'params' | 'query' | 'body' | 'handler'
> & {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly handler: (request: ApiRequest<Static<P>, Static<Q>, Static<B>>) => Promise<ApiReply>;
};

/** Declares a route whose handler is typed by the schemas, which are validated before it runs. */
export function apiRoute<P extends TObject = TObject, Q extends TObject = TObject, B extends TSchema = TSchema>(
  route: TypedRoute<P, Q, B>,
): ApiRoute {
  // Sound: the server validates params, query and body against these schemas before it calls the handler.
  return route as unknown as ApiRoute;
}
