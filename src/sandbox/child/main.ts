/** Entry of the process in which plugins run. It is started and ended (SIGKILL, which is safe) by src/sandbox/host only. */
import { openGeoIp } from '../../plugins/geoip.ts';
import { serveSandbox } from './serve.ts';

serveSandbox({ openGeoIp });
