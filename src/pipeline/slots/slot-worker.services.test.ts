/** Workers in separate processes on a real PostgreSQL: suspended, killed and stopped, with clocks that differ by hours. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeOnPostgres, emptied } from '../../../test/support/postgres-database.ts';
import { migrate } from '../../stores/metadata/migrate.ts';
import { createSlots } from '../../stores/metadata/slot-leases.ts';

const slots = 4;
const hourMs = 3_600_000;
const program = new URL('../../../test/support/slot-process.ts', import.meta.url).pathname;

describeOnPostgres('workers of slots as processes', (database) => {
  const { db, url } = database;
  let children: ChildProcess[] = [];
  beforeEach(async () => {
    await emptied(database);
    await migrate(db, 'postgres');
    await createSlots(db, slots);
    await sql`create table slot_writes (slot integer, epoch bigint, count bigint, late bigint)`.execute(db);
    await sql`insert into slot_writes select slot, 0, 0, 0 from slots`.execute(db);
  });
  afterEach(async () => {
    const ended = children.filter((child) => child.exitCode === null && child.signalCode === null);
    for (const child of ended) child.kill('SIGKILL');
    await Promise.all(ended.map((child) => once(child, 'exit')));
    children = [];
  });

  const start = (leaseMs: number, clockMs = 0): ChildProcess => {
    const args = ['--no-warnings', program, url, slots, leaseMs, clockMs].map(String);
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    children.push(child);
    return child;
  };
  const heldBy = async ({ pid }: ChildProcess): Promise<number> => {
    const rows = await db.selectFrom('slots').select('slot').where('owner', 'like', `${pid}-%`).execute();
    return rows.length;
  };
  const holds = (child: ChildProcess, count: number, timeout = 20_000) =>
    expect.poll(() => heldBy(child), { interval: 50, timeout }).toBe(count);
  const written = async (): Promise<{ count: number; late: number }[]> =>
    (await sql<{ count: number; late: number }>`select count, late from slot_writes order by slot`.execute(db)).rows;

  it('one that is suspended inside a transaction loses its slots within about ten seconds, and writes nothing when it resumes', async () => {
    const sleeper = start(10_000, hourMs);
    await holds(sleeper, 4);
    const other = start(10_000, -hourMs);
    await holds(other, 2);
    await suspendInTransaction(sleeper);
    const stoodAt = performance.now();
    await holds(other, 4);
    expect(performance.now() - stoodAt).toBeLessThan(13_000);
    const before = await written();
    sleeper.kill('SIGCONT');
    // It holds slots again, in new epochs.
    await holds(sleeper, 2);
    await expect
      .poll(async () => (await written()).every(({ count }, at) => count > (before[at]?.count ?? 0)))
      .toBe(true);
    expect((await written()).map(({ late }) => late)).toEqual([0, 0, 0, 0]);
  });

  it('the slots of a killed worker pass to the others after its lease, and those of a stopping one immediately', async () => {
    const [killed, polite, left] = [start(3000, -hourMs), start(3000, hourMs), start(3000)] as const;
    await expect.poll(async () => Promise.all([killed, polite, left].map(heldBy)).then(sorted)).toEqual([1, 1, 2]);
    killed.kill('SIGKILL');
    await holds(polite, 2, 6000);
    polite.kill('SIGTERM');
    const [code] = (await once(polite, 'exit')) as [number];
    expect(code).toBe(0);
    expect(await heldBy(polite)).toBe(0);
    await holds(left, 4, 2000);
    expect((await written()).map(({ late }) => late)).toEqual([0, 0, 0, 0]);
  });

  /** Suspends the process between two statements of a transaction: PostgreSQL then waits for it. */
  async function suspendInTransaction(child: ChildProcess): Promise<void> {
    for (;;) {
      child.kill('SIGSTOP');
      const { rows } = await sql<{ state: string }>`select state from pg_stat_activity
        where datname = current_database() and state = 'idle in transaction'`.execute(db);
      if (rows.length > 0) return;
      child.kill('SIGCONT');
    }
  }
});

function sorted(counts: number[]): number[] {
  return counts.toSorted((a, b) => a - b);
}
