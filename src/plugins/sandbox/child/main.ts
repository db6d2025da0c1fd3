/** Entry of the process in which plugins run. It is started and ended (SIGKILL, which is safe) by src/plugins/sandbox/host only. */
import { openGeoIp } from '../../geoip.ts';
import { serveSandbox } from './serve.ts';

serveSandbox({ openGeoIp });
