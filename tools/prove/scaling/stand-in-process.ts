/** The stand-in of ClickHouse as a process of its own, so that its CPU time can be told from that of others: see forkServer. */
import { ClickhouseStandIn } from '../../../test/support/clickhouse-stand-in.ts';

const standIn = new ClickhouseStandIn();
const end = async (): Promise<void> => {
  await standIn.close();
  process.exit(0);
};
process.once('SIGTERM', () => void end());
// Whoever started it is gone.
process.once('disconnect', () => void end());
process.send?.({ url: await standIn.listen() });
