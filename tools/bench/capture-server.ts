/** The capture path of (a) as the service runs it: its own HTTP server, scanner, validation and durable log; nothing reads the log. */
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { createIngest } from '../../src/wire/capture/create-ingest.ts';
import { createAgreements } from '../../src/wire/capture/agreements.ts';
import { createBudgets } from '../../src/wire/capture/budgets.ts';
import { createProjectKeys } from '../../src/wire/capture/project-key.ts';
import { createProjectLimits } from '../../src/wire/capture/project-limits.ts';
import { registerCapture } from '../../src/wire/capture/routes.ts';
import { loadSettings } from '../../src/server/config/load.ts';
import { openSqliteLogWriter } from '../../src/log/sqlite/writer.ts';
import { createAuth } from '../../src/server/http/auth.ts';
import { buildServer } from '../../src/server/http/server.ts';
import { createMessageReader } from '../../src/server/service/segment-messages.ts';
import { migrate } from '../../src/stores/metadata/migrate.ts';
import { openSqlite } from '../../src/stores/metadata/sqlite.ts';
import { createLog } from '../../src/server/telemetry/log.ts';
import { createMetrics } from '../../src/server/telemetry/metrics.ts';

const dir = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const { settings } = loadSettings({ env: { MILLRACE_BACKLOG_EVENTS_MAX: '10000000000' } });
const clock = systemClock;
const log = createLog('error');
const metrics = createMetrics();
const db = openSqlite(join(dir, 'metadata.sqlite'));
await migrate(db, 'sqlite');
const eventLog = await openSqliteLogWriter(join(dir, 'log'), { committed: { live: 0, historical: 0 } });
// A limit that is counted and never reached.
const limits = createProjectLimits({ events_per_second: 1e12, bytes_per_second: 1e12, backlog_bytes: 1e12 });
const ingest = createIngest({ log: eventLog, settings, metrics, limits });
const server = buildServer({
  db,
  clock,
  log,
  metrics,
  settings,
  auth: createAuth({ db, clock, log }),
  health: {},
  registerCapture: (app) =>
    registerCapture(app, {
      ingest,
      createMessageReader,
      projects: createProjectKeys({ clock, findProject: async () => 1 }),
      agreements: createAgreements({
        mode: 'optional',
        clock,
        findApproved: async () => undefined,
        budgets: createBudgets({ clock, historicalTotal: async () => 0 }),
      }),
      settings,
      metrics,
      clock,
      log,
    }),
});
await server.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ url: `http://127.0.0.1:${(server.server.address() as AddressInfo).port}/batch/` });
process.on('SIGTERM', async () => {
  await server.close();
  await eventLog.close();
  await db.destroy();
  rmSync(dir, { recursive: true, force: true });
  process.disconnect();
});
