/** A process for tests that runs an embedded engine until it is killed, and sends the engine's pid. */
import { tempChdb } from '../../../../test/support/chdb.ts';

const chdb = await tempChdb({}, process.argv[2]);
process.send?.({ pid: chdb.supervisor.pid, socketPath: chdb.supervisor.socketPath });
