/** A separate thread for a test: reads the live lane up to `wanted` records, commits them and posts their seqs. */
import { workerData, type MessagePort } from 'node:worker_threads';
import { noLimits } from '../../conformance/event-log/event-log.ts';
import { openSqliteLogReader } from '../../../src/log/sqlite/reader.ts';

const { dir, shared, wanted, port } = workerData as {
  dir: string;
  shared: SharedArrayBuffer;
  wanted: number;
  port: MessagePort;
};
const reader = openSqliteLogReader(dir, shared);
const seqs: number[] = [];
// What waits on shared memory does not keep a thread alive; a port that is listened to does.
port.on('message', () => undefined);
while (seqs.length < wanted) {
  const found = await reader.read('live', seqs.at(-1) ?? 0, noLimits);
  seqs.push(...found.map(({ seq }) => seq));
  if (found.length === 0) await reader.waitForAppend(60_000);
}
reader.commit('live', seqs.at(-1) ?? 0);
await reader.close();
port.postMessage(seqs, []);
port.close();
