import { sql } from 'kysely';
import { afterAll } from 'vitest';
import { kyselyOf, openPglite } from '../../../test/support/pglite.ts';
import { migrate } from '../../metadata/migrate.ts';
import { testFence } from './fence-conformance.ts';
import { testSlotStorm } from './storm-conformance.ts';
import { testSlotWorkers } from './worker-conformance.ts';

// One instance for all tests. Each test gets a new schema.
const db = kyselyOf(await openPglite());
afterAll(() => db.destroy());

async function open() {
  await sql`drop schema public cascade`.execute(db);
  await sql`create schema public`.execute(db);
  await migrate(db, 'postgres');
  return { db, [Symbol.asyncDispose]: async () => undefined };
}

testFence(open);
testSlotWorkers(open);
testSlotStorm(open);
