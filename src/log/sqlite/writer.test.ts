import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeEventLog } from '../../../test/conformance/event-log/event-log.ts';
import { openSqliteLogReader } from './reader.ts';
import { openSqliteLogWriter } from './writer.ts';

describeEventLog('sqlite', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'millrace-log-'));
  const writer = await openSqliteLogWriter(dir, { committed: { live: 0, historical: 0 } });
  const reader = openSqliteLogReader(dir, writer.shared);
  return { writer, reader, dispose: () => rm(dir, { recursive: true }) };
});
