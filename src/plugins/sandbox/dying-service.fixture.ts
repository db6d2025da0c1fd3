/** A service with running plugins that prints the id of their process, and waits to be killed. */
import { openTestSandbox, specOf } from '../../../test/support/sandbox.ts';

const sandbox = openTestSandbox();
await sandbox.open(specOf('exports.processEvent = (event) => event'));
process.stdout.write(`${sandbox.pid}\n`);
setInterval(() => undefined, 1000);
