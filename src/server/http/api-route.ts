import type { Static, TObject, TSchema } from 'typebox';
import type { Role } from '../../wire/contract/roles.ts';
import type { Scope } from '../../wire/contract/scopes.ts';

/** Who asks. A console session has every scope and is not rate limited; what its user may do the role says, as for keys. */
export type Principal =
  | {
      readonly kind: 'key';
      readonly keyId: string;
      readonly userId: number;
      readonly organizationId: string;
      readonly role: Role;
      readonly scopes: readonly string[];
      /** Null: every project of the organisation. */
      readonly projectIds: readonly number[] | null;
    }
  | {
      readonly kind: 'session';
      readonly sessionId: string;
      readonly userId: number;
      readonly organizationId: string;
      readonly role: Role;
    }
  | {
      /** A command on the data directory itself, see service/store-api.ts. The activity log names the service. */
      readonly kind: 'operator';
      /** The first admin: the user whose keys the commands manage. */
      readonly userId: number;
      readonly organizationId: string;
      readonly role: 'admin';
    };

/** The project of the path, after the check that the principal may see it. */
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
  /** Absolute URL of this request without query, as the client sees it (site URL, path as called). */
  readonly url: string;
  /** Query string as sent, without `?`. */
  readonly rawQuery: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Uploaded files of a multipart body by field name; empty otherwise. */
  readonly files: ReadonlyMap<string, UploadedFile>;
  /** Only for routes that take an upload: the file as it comes, to be read to its end. */
  readonly upload?: () => Promise<UploadStream>;
  /** Whether the caller may still do this: for answers without end. @throws ApiError why not */
  readonly checkAgain: () => Promise<void>;
  /** Aborted when the server begins to stop: an answer without end ends then. */
  readonly stopping?: AbortSignal;
  /** A signal that is aborted when the client goes away before it has its answer: for work that only this client needs. */
  readonly gone?: () => AbortSignal;
}

export interface UploadStream {
  /** As a multipart body names it. */
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
   * Sent as JSON; a string, bytes or a stream with a content-type header goes out as is; undefined: no body. A stream is
   * destroyed when the client goes away.
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
  /** `any-key`: a valid key or session without a scope; `public`: nobody is asked. */
  readonly scope: Scope | 'any-key' | 'public';
  /** The lowest role of a user that may call it, where `roleOf` would get it wrong from method and scope. */
  readonly role?: Role;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Path parameters besides project_id. */
  readonly params?: TObject;
  readonly query?: TObject;
  /** Checked after `"5"` → 5 and `"true"` → true where the schema says integer or boolean. Unknown fields are ignored. */
  readonly body?: TSchema;
  /** Instead of `body`: one file of any size, as application/octet-stream or multipart/form-data, that the handler reads itself. */
  readonly takesUpload?: true;
  /** What limits access: an answer names the fields of the body that were ignored, see unknown-fields.ts. */
  readonly namesUnknownFields?: true;
  /** Numbers of the body that JavaScript cannot hold come as base/exact-json.ts keeps them: for events, which are stored as sent. */
  readonly keepsDigits?: true;
  /** Of an answer 200 that is something else than JSON, or can be. Default: application/json. */
  readonly mediaTypes?: readonly string[];
  /** A GET that is asked often: direct-reads.ts answers it as a rule, without the framework. Its answer is no stream. */
  readonly isReadOften?: true;
  /** By status; null: no body. Success statuses only, the errors are the same everywhere. */
  readonly responses: Readonly<Record<number, TSchema | null>>;
  /** What headers of a successful answer mean, by name; for OpenAPI. */
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

/** Declares a route; the handler's request is typed by the schemas, which are checked before it runs. */
export function apiRoute<P extends TObject = TObject, Q extends TObject = TObject, B extends TSchema = TSchema>(
  route: TypedRoute<P, Q, B>,
): ApiRoute {
  // Sound: the server validates params, query and body against these very schemas before it calls the handler.
  return route as unknown as ApiRoute;
}
