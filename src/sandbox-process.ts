/** Entry of the process in which plugins run. It is started and ended (SIGKILL, which is safe) by src/sandbox/host only. */
import { serveSandbox } from './sandbox/child/serve.ts';

serveSandbox({
  openGeoIp: () => ({
    geoip: undefined,
    geoipProblem: 'no database of places is configured: set MILLRACE_GEOIP_DATABASE',
  }),
});
