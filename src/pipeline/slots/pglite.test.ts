import { sql } from 'kysely';
import { afterAll } from 'vitest';
import { kyselyOf, openPglite } from '../../../test/support/pglite.ts';
import { migrate } from '../../stores/metadata/migrate.ts';
import { testFence } from '../../../test/conformance/slots/fence.ts';
import { testSlotStorm } from '../../../test/conformance/slots/storm.ts';
import { testSlotWorkers } from '../../../test/conformance/slots/worker.ts';

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
