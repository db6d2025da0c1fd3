/** Runs the stand-in of ClickHouse in a separate process, so that its CPU time is measured separately: see forkServer. */
import { ClickhouseStandIn } from '../../../test/support/clickhouse-stand-in.ts';

const standIn = new ClickhouseStandIn();
const end = async (): Promise<void> => {
  await standIn.close();
  process.exit(0);
};
process.once('SIGTERM', () => void end());
// The parent process has ended.
process.once('disconnect', () => void end());
process.send?.({ url: await standIn.listen() });
