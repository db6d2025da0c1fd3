import type { SignInLink, UserRecord } from '../../wire/contract/users.ts';
import { createApiClient } from '../api-client.ts';
import { noUser } from './no-user.ts';
import type { SignIn, UserDirectory, UserView } from './user-directory.ts';

/** Users of a running service, by its API. Changes need an admin's key that may do everything. */
export function servedUsers(url: string, apiKey: string | undefined): UserDirectory {
  const api = createApiClient(url, apiKey);
  const list = (): Promise<readonly UserRecord[]> => api.get<UserRecord[]>('/api/users/');
  const find = async (name: string): Promise<UserView> => {
    const wanted = name.toLowerCase();
    const found = (await list()).find(({ id, email }) => String(id) === wanted || email.toLowerCase() === wanted);
    if (found === undefined || wanted === '') throw noUser(name);
    return found;
  };
  return {
    list,
    find,
    async signIn(name) {
      const user = name === undefined ? await api.get<UserView>('/api/users/@me/') : await find(name);
      return signInOf(user, await api.send<SignInLink>('POST', `/api/users/${user.id}/sign_in_link/`));
    },
    async invite({ email, firstName, role }) {
      const body = { email, first_name: firstName, role };
      const made = await api.send<UserRecord & SignInLink>('POST', '/api/users/', body);
      return signInOf(made, made);
    },
    async changeRole(name, role) {
      const { id } = await find(name);
      return await api.send<UserRecord>('PATCH', `/api/users/${id}/`, { role, is_active: true });
    },
    remove: ({ id }) => api.send('DELETE', `/api/users/${id}/`),
  };
}

function signInOf(user: UserView, { sign_in_url: url, sign_in_expires_at: until }: SignInLink): SignIn {
  return { user, url, lifetime: `works once, until ${until}` };
}
