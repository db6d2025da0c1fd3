import { createHash } from 'node:crypto';
import type { Transaction } from 'kysely';
import { isoMicros, type Clock } from '../../base/clock.ts';
import { keyHash } from '../../base/ids.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { ApiReply, ApiRequest } from '../http/api-route.ts';
import type { Database, Metadata } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';

const keptMs = 24 * 3_600_000;
const pruneEveryMs = 10 * 60_000;
const keyForm = /^[\x20-\x7e]{1,255}$/;
/** Body of a response without one. */
const emptyBody = '';

/**
 * Runs a handler in one transaction and honours `Idempotency-Key`: the same principal, method, path, key and body get the first
 * response again, marked `Idempotency-Replayed: true`, without repeating the effect. A concurrent duplicate waits for the first.
 * Errors are not kept: nothing happened, and a retry may succeed.
 *
 * Responses are kept unchanged for 24 h, so it must not be used for handlers whose response contains a secret.
 */
export function idempotent<Request extends ApiRequest>(
  db: Metadata,
  clock: Clock,
  handler: (request: Request, tx: Transaction<Database>) => Promise<ApiReply>,
): (request: Request) => Promise<ApiReply> {
  return idempotentAfter(db, clock, async () => undefined, handler);
}

/**
 * Like `idempotent`, for handlers with slow preparation that stores nothing: `prepare` runs outside of the transaction, and is
 * skipped if a response is kept.
 */
export function idempotentAfter<Request extends ApiRequest, Prepared>(
  db: Metadata,
  clock: Clock,
  prepare: (request: Request) => Promise<Prepared>,
  handler: (request: Request, tx: Transaction<Database>, prepared: Prepared) => Promise<ApiReply>,
): (request: Request) => Promise<ApiReply> {
  let prunedAt = 0;
  return async (request) => {
    const key = keyOf(request);
    if (key === undefined) {
      const prepared = await prepare(request);
      return db.transaction().execute((tx) => handler(request, tx, prepared));
    }
    const now = clock.now();
    const expired = isoMicros(now - keptMs);
    if (now - prunedAt > pruneEveryMs) {
      prunedAt = now;
      await db.deleteFrom('idempotency_keys').where('created_at', '<', expired).execute();
    }
    const bodyHash = hashBody(request);
    if (await isAnswered(db, key, expired)) return replay(db, key, bodyHash);
    const prepared = await prepare(request);
    return db.transaction().execute(async (tx) => {
      await tx.deleteFrom('idempotency_keys').where('key_hash', '=', key).where('created_at', '<', expired).execute();
      // The row is written before the effect: a duplicate in another process waits for it until this transaction ends.
      const { numInsertedOrUpdatedRows } = await tx
        .insertInto('idempotency_keys')
        .values({
          key_hash: key,
          body_hash: bodyHash,
          status: 0,
          headers: '{}',
          body: emptyBody,
          created_at: isoMicros(now),
        })
        .onConflict((conflict) => conflict.column('key_hash').doNothing())
        .executeTakeFirst();
      if (numInsertedOrUpdatedRows === 0n) return replay(tx, key, bodyHash);
      const reply = await handler(request, tx, prepared);
      await keep(tx, key, reply);
      return reply;
    });
  };
}

async function isAnswered(db: Queries, key: string, expired: string): Promise<boolean> {
  const row = await db
    .selectFrom('idempotency_keys')
    .select('key_hash')
    .where('key_hash', '=', key)
    .where('created_at', '>=', expired)
    .where('status', '>', 0)
    .executeTakeFirst();
  return row !== undefined;
}

async function keep(tx: Transaction<Database>, key: string, { status, headers, body }: ApiReply): Promise<void> {
  await tx
    .updateTable('idempotency_keys')
    .set({
      status,
      headers: JSON.stringify(headers ?? {}),
      body: body === undefined ? emptyBody : JSON.stringify(body),
    })
    .where('key_hash', '=', key)
    .execute();
}

async function replay(tx: Queries, key: string, bodyHash: string): Promise<ApiReply> {
  const row = await tx.selectFrom('idempotency_keys').selectAll().where('key_hash', '=', key).executeTakeFirst();
  if (row === undefined) {
    const detail = 'A request with this Idempotency-Key is still running. Retry later.';
    throw new ApiError('conflict', detail, { headers: { 'retry-after': '1' } });
  }
  if (row.body_hash !== bodyHash) {
    const detail = 'This Idempotency-Key was used with a different body in the last 24 hours. Use a new key.';
    throw new ApiError('invalid_input', detail);
  }
  const headers = JSON.parse(row.headers) as Record<string, string>;
  const body = row.body === emptyBody ? {} : { body: JSON.parse(row.body) as unknown };
  return { status: row.status, headers: { ...headers, 'idempotency-replayed': 'true' }, ...body };
}

function keyOf(request: ApiRequest): string | undefined {
  const given = request.headers['idempotency-key'];
  if (given === undefined) return undefined;
  if (typeof given !== 'string' || !keyForm.test(given)) {
    throw new ApiError('invalid_input', 'Expected one Idempotency-Key of 1 to 255 printable ASCII characters.');
  }
  const { principal } = request;
  const who = principal.kind === 'key' ? `key ${principal.keyId}` : `user ${principal.userId}`;
  const path = new URL(request.url).pathname.replace(/\/$/, '');
  return keyHash(JSON.stringify([who, request.method, path, given]));
}

function hashBody({ body, files }: ApiRequest): string {
  const hash = createHash('sha256').update(JSON.stringify(body ?? null));
  for (const [name, { fileName, contentType, content }] of files) {
    hash.update(JSON.stringify([name, fileName, contentType, content.byteLength])).update(content);
  }
  return hash.digest('hex');
}
