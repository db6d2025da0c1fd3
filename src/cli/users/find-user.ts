import type { Metadata } from '../../stores/metadata/database.ts';
import { listUsers, type User } from '../../stores/metadata/users.ts';
import { noUser } from './no-user.ts';

/** The user of an organisation whose address or number this is. Errors: notFound. */
export async function findUser(db: Metadata, organizationId: string, text: string): Promise<User> {
  const wanted = text.toLowerCase();
  const users = await listUsers(db, organizationId);
  const found = users.find(
    ({ id, email }) => String(id) === wanted || (email !== '' && email.toLowerCase() === wanted),
  );
  if (found !== undefined) return found;
  throw noUser(text);
}
