import { roles, type Role } from '../../src/wire/contract/roles.ts';
import { everyScope, type TestApp } from './app.ts';

/** One operation of the OpenAPI document. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With `{name}` for parameters. */
  readonly path: string;
  /** As the document says; undefined: public. */
  readonly role: string | undefined;
}

/** Every operation of an OpenAPI document. */
export function operationsOf(document: object): Operation[] {
  const { paths } = document as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly 'x-role'?: string }>>>>;
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      // Sound: the document is made of a table of routes, which have no other methods.
      method: method.toUpperCase() as Operation['method'],
      path,
      role: operation['x-role'],
    })),
  );
}

/** An answer without an end, such as a stream, counts as one that was not refused. */
const answerMsMax = 2_000;

/**
 * Calls an operation as a user of each role, by session and by key: for each, the roles that were not refused for being what
 * they are. What it does besides (nothing found, nothing given) does not matter here.
 */
export async function rolesLetIn(
  app: TestApp,
  { method, path }: Operation,
): Promise<{ readonly bySession: Role[]; readonly byKey: Role[] }> {
  const url = path.replace('{project_id}', String(app.project.id)).replaceAll(/\{\w+\}/g, '999999');
  const isLetIn = async (headers: Readonly<Record<string, string>>): Promise<boolean> => {
    const answer = await app
      .inject({ method, url, headers, signal: AbortSignal.timeout(answerMsMax) })
      .catch((error: unknown) => {
        if (error instanceof Error && error.name === 'AbortError') return undefined;
        throw error;
      });
    if (answer?.statusCode === 401) throw new Error(`expected ${method} ${url} to know the user, got: ${answer.body}`);
    return !(answer?.statusCode === 403 && /takes a user with the role/.test(answer.body));
  };
  const letIn = { bySession: [] as Role[], byKey: [] as Role[] };
  for (const role of roles) {
    const { id: userId } = await app.userOf(role);
    // New ones for each call: some operations end sessions and keys.
    const cookie = await app.session(userId);
    if (await isLetIn({ cookie, 'sec-fetch-site': 'same-origin' })) letIn.bySession.push(role);
    const authorization = `Bearer ${await app.key(everyScope, { userId })}`;
    if (await isLetIn({ authorization })) letIn.byKey.push(role);
  }
  return letIn;
}
