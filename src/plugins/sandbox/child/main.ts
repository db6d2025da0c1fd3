/** Entry of the plugin process. Only src/plugins/sandbox/host starts and ends it (SIGKILL, which is safe). */
import { openGeoIp } from '../../geoip.ts';
import { serveSandbox } from './serve.ts';

serveSandbox({ openGeoIp });
