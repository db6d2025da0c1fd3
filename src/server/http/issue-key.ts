import { ApiError } from '../../wire/contract/errors.ts';
import { personalApiKeysMax } from '../../wire/contract/keys.ts';
import type { Actor } from '../../stores/metadata/activity.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import {
  createPersonalApiKey,
  listPersonalApiKeys,
  type IssuedKey,
  type NewPersonalApiKey,
} from '../../stores/metadata/personal-api-keys.ts';
import { recordKey } from '../../stores/metadata/record-key.ts';

/**
 * Creates a personal key and records it in the activity log, unless the user has the maximum number of keys.
 * @throws ApiError on label, scopes, or the number of keys
 */
export async function issueKey(db: Metadata, actor: Actor, input: NewPersonalApiKey, now: number): Promise<IssuedKey> {
  return db.transaction().execute(async (tx) => {
    // Locks the user's row on stores with concurrent writers, so that two requests cannot both be the tenth.
    const own = tx.updateTable('users').set((eb) => ({ email: eb.ref('email') }));
    await own.where('id', '=', input.userId).execute();
    if ((await listPersonalApiKeys(tx, input.userId)).length >= personalApiKeysMax) {
      const detail = `You can only have ${personalApiKeysMax} personal API keys. Remove an existing key before creating a new one.`;
      throw new ApiError('invalid_input', detail);
    }
    const issued = await createPersonalApiKey(tx, input, now);
    await recordKey(tx, actor, { activity: 'created', key: issued.key, now });
    return issued;
  });
}
