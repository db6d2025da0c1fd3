/** Entry of the process in which plugins run. It is started and ended (SIGKILL, which is safe) by src/sandbox/host only. */
import { openGeoIp } from './plugin-services/geoip.ts';
import { serveSandbox } from './sandbox/child/serve.ts';

serveSandbox({ openGeoIp });
