/** Entry of the plugin process. Only src/plugins/sandbox/host starts and ends it (SIGKILL, which is safe). */
import { enableCompileCache, flushCompileCache } from 'node:module';

// As an argument, since the process has no environment variables. Takes effect for what is imported after it.
const [, , compiled] = process.argv;
if (compiled !== undefined) enableCompileCache(compiled);
const { openGeoIp } = await import('../../geoip.ts');
const { serveSandbox } = await import('./serve.ts');
flushCompileCache();
serveSandbox({ openGeoIp });
