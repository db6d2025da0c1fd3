/**
 * A separate process that runs jobs and is killed by a test. Arguments: FILE MODE. FILE is the metadata store. Prints
 * `began TARGET` and `ended TARGET` for each call of the plugin. Modes: in `hang` no call ends; in `work` each takes 30 ms.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../base/clock.ts';
import { openSqlite } from '../../stores/metadata/sqlite.ts';
import { createRegistry } from '../../plugins/plugin-registry.ts';
import type { CallTarget } from '../../plugins/sandbox/sandbox.ts';
import { createLog } from '../../server/telemetry/log.ts';
import { startJobRunner } from './runner.ts';
import { fakeSandbox } from '../../../test/support/jobs.ts';

const [file = '', mode = ''] = process.argv.slice(2);

function nameOf(target: CallTarget): string {
  if (target.kind === 'job') return `job ${String(target.payload?.['n'])}`;
  return target.kind === 'scheduled' ? target.name : `${target.kind} ${target.events[0]?.event}`;
}

const { sandbox, services, loadProgram } = fakeSandbox({
  jobs: ['sync'],
  async call(target) {
    const name = nameOf(target);
    process.stdout.write(`began ${name}\n`);
    await delay(mode === 'hang' ? 600_000 : 30);
    process.stdout.write(`ended ${name}\n`);
  },
});

// A failing test must not leave a busy process behind.
setTimeout(() => process.kill(process.pid, 'SIGKILL'), 60_000).unref();
const runner = startJobRunner({
  db: openSqlite(file),
  clock: systemClock,
  registry: createRegistry([]),
  accept: async () => undefined,
  log: createLog('silent'),
  signal: new AbortController().signal,
  installed: { sandbox, services, loadProgram },
  pollMs: 10,
  leaseMs: 2000,
});
await runner.done;
