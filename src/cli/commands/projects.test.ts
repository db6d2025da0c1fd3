import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Finished } from '../../../test/support/command.ts';
import { openCommandStore, type CommandStore } from '../../../test/support/command-store.ts';
import { addApp } from '../../../test/support/jobs.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { createSlots } from '../../stores/metadata/slot-leases.ts';
import { readSpread } from '../../stores/metadata/spread-project.ts';
import { exitCodes } from '../exit-codes.ts';

const slots = 4;
let store: CommandStore;
let db: Metadata;

beforeAll(async () => {
  store = await openCommandStore();
  ({ db } = store);
  await createSlots(db, slots);
});
afterAll(() => store[Symbol.asyncDispose]());

const run = (...args: string[]): Promise<Finished> => store.run(...args);

describe('millrace projects spread', () => {
  it('spreads a project over slots and reverts it, shows it, and records it in the activity log', async () => {
    const { code, stdout } = await run('projects', 'spread', '1', '3', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, spread: 3 });
    expect(await readSpread(db, 1)).toMatchObject({ spread: 3, before: 1 });
    expect((await run('projects', 'list')).stdout).toMatch(/^ID .*SLOTS.*\n1 .* 3 /);
    expect((await run('projects', 'spread', '1', '1')).stdout).toMatch(/^ID .*SLOTS.*\n1 .* 1 /);
    expect(await readSpread(db, 1)).toMatchObject({ spread: 1, before: 3 });
    const entries = await db.selectFrom('activity_log').selectAll().where('activity', '=', 'updated').execute();
    expect(entries.map(({ scope, item_id, is_system }) => [scope, item_id, is_system])).toEqual([
      ['Project', '1', 1],
      ['Project', '1', 1],
    ]);
    // A project that was never spread shows no spread.
    expect(entries.flatMap(({ changes }) => JSON.parse(changes))).toEqual([
      { field: 'spread', action: 'created', before: null, after: '3' },
      { field: 'spread', action: 'deleted', before: '3', after: null },
    ]);
  });

  it.each([
    ['more slots than there are', ['1', '5'], exitCodes.usage, 'got 5; there are 4'],
    ['no slot', ['1', '0'], exitCodes.usage, 'expected a whole number of at least 1, got: 0'],
    ['what is no number of slots', ['1', '2.5'], exitCodes.usage, 'expected a whole number of at least 1, got: 2.5'],
    ['what is no number of a project', ['shop', '2'], exitCodes.usage, 'expected the number of a project, got: shop'],
    ['a project that is not there', ['77', '2'], exitCodes.notFound, 'no project 77'],
  ])('is refused %s, and changes nothing', async (_, args, { code }, message) => {
    const before = await readSpread(db, 1);
    const finished = await run('projects', 'spread', ...args);
    expect(finished.stderr).toContain(message);
    expect(finished.code).toBe(code);
    expect(await readSpread(db, 1)).toMatchObject({ spread: before?.spread, before: before?.before });
  });

  it('is refused with the name of a transformation that keeps values', async () => {
    const config = await addApp(db, 1, { code: 'exports.processEvent = (event, { storage }) => storage.get("a")' });
    await db.updateTable('plugin_configs').set({ family: 'transformation' }).where('id', '=', config).execute();
    const { code, stderr } = await run('projects', 'spread', '1', '2');
    expect(stderr).toContain(`(config ${config})`);
    expect(code).toBe(exitCodes.usage.code);
    expect(await readSpread(db, 1)).toMatchObject({ spread: 1 });
  });
});

describe('millrace projects limits', () => {
  it('shows and changes what a project may send, and returns it to the default of the service', async () => {
    const { stdout } = await run('projects', 'limits', '1');
    expect(stdout).toMatch(/^LIMIT +VALUE +FROM\nevents_per_second +unlimited +service\n/);
    const changed = await run('projects', 'limits', '1', '--events-per-second', '2000', '--backlog-bytes', 'unlimited');
    expect(changed.stdout).toMatch(
      /events_per_second +2,000 +project\nbytes_per_second +unlimited +service\nbacklog_bytes +unlimited +project/,
    );
    const json = await run('projects', 'limits', '1', '--events-per-second', 'default', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      events_per_second: null,
      bytes_per_second: null,
      backlog_bytes: 0,
    });
  });

  it.each([
    [
      'a limit that is not a number',
      ['1', '--events-per-second', '1.5'],
      exitCodes.usage,
      'whole number of at least 1, got: 1.5',
    ],
    ['no events at all', ['1', '--bytes-per-second', '0'], exitCodes.usage, 'whole number of at least 1, got: 0'],
    ['a project that is not there', ['77', '--bytes-per-second', '9'], exitCodes.notFound, 'no project 77'],
  ])('refuses %s', async (_, args, { code }, message) => {
    const finished = await run('projects', 'limits', ...args);
    expect(finished.stderr).toContain(message);
    expect(finished.code).toBe(code);
  });
});
