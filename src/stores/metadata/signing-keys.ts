import { createSigningKey } from '../../base/signatures.ts';
import { isoMicros } from '../../base/clock.ts';
import type { Queries } from './queries.ts';

/** Returns the private key that signs what the project declares; creates it at its first use. `now` in ms. */
export async function signingKeyOf(db: Queries, projectId: number, now: number): Promise<string> {
  const find = () =>
    db.selectFrom('signing_keys').select('private_key').where('project_id', '=', projectId).executeTakeFirst();
  const known = await find();
  if (known !== undefined) return known.private_key;
  await db
    .insertInto('signing_keys')
    .values({ project_id: projectId, private_key: createSigningKey(), created_at: isoMicros(now) })
    .onConflict((conflict) => conflict.column('project_id').doNothing())
    .execute();
  // Another process may have been faster.
  const made = await find();
  if (made === undefined) throw new Error(`expected a signing key of project ${projectId}, got none`);
  return made.private_key;
}
