import { createServer } from 'node:net';
import type { Settings } from '../../config/settings.ts';
import { networkFault } from '../../../base/network-fault.ts';
import { siteUrlOf } from '../../http/request-origin.ts';
import { CheckSkippedError, definePart, nothingOpen, type DoctorContext, type Fault, type Outcome } from './check.ts';

interface ServiceSubject extends DoctorContext, AsyncDisposable {
  /** Whether a service responds at the address. */
  readonly isLive: boolean;
}

const liveMs = 3000;
const answerMs = 8000;

export const servicePart = definePart<ServiceSubject>({
  title: 'Service',
  open: async (context) => {
    const { url, isInUse } = context.place;
    const isLive = isInUse !== false && (await answersLive(url));
    return { ...context, isLive, ...nothingOpen };
  },
  checks: {
    service_running: {
      checks: 'a service responds, if an address is given or a process uses the data directory',
      severity: 'warning',
      advice: 'Start the service, or name its address with `--url`.',
      find: ({ isLive, place: { url, isInUse, isElsewhere } }) => {
        if (isLive) return `running at ${url}`;
        if (isInUse === true) return [`a process uses the data directory, and no service responds at ${url}`];
        if (isInUse === false) return 'none is running on this data directory';
        return isElsewhere ? [`no service responds at ${url}`] : `none is running at ${url}`;
      },
    },
    service_port: {
      checks: 'the port of the service is free, unless it is running',
      severity: 'failed',
      advice: 'Stop the program that uses the port, or choose another one with `--port` (`MILLRACE_PORT`).',
      find: async ({ isLive, settings, place: { isElsewhere } }) => {
        if (isLive && !isElsewhere) return 'used by the service';
        if (settings.port === 0 || (await isFree(settings))) return `${settings.port} is free`;
        return isLive ? `${settings.port} is used` : [`${settings.port} is used by another program`];
      },
    },
    service_ready: {
      checks: 'the components of the running service work',
      severity: 'failed',
      advice: 'Do what the message says; see docs/troubleshooting.md and the log of the service.',
      find: findUnready,
    },
    service_public_url: {
      checks: 'the running service answers at `MILLRACE_SITE_URL`',
      severity: 'warning',
      advice: 'Correct `MILLRACE_SITE_URL`, its DNS name, or the route of the load balancer to the role `api`.',
      find: findPublicUrl,
    },
  },
});

async function answersLive(url: string): Promise<boolean> {
  const response = await fetch(`${url}/livez`, { signal: AbortSignal.timeout(liveMs) }).catch(() => undefined);
  return response?.ok === true;
}

async function isFree({ host, port }: Settings): Promise<boolean> {
  const server = createServer();
  return new Promise((done) => {
    server.once('error', () => done(false));
    server.listen(port, host, () => server.close(() => done(true)));
  });
}

interface Component {
  readonly ok: boolean;
  readonly optional?: boolean;
  readonly detail?: string;
}

async function findUnready({ isLive, place }: ServiceSubject): Promise<Outcome> {
  if (!isLive) throw new CheckSkippedError('no service is running');
  const answer = await fetch(`${place.url}/readyz?verbose`, { signal: AbortSignal.timeout(answerMs) });
  const { checks = {} } = (await answer.json()) as { checks?: Readonly<Record<string, Component>> };
  const faults = Object.entries(checks)
    .filter(([, { ok }]) => !ok)
    .map(([name, { detail = '', optional = false }]): Fault => {
      const text = detail === '' ? `${name} does not work` : `${name}: ${detail}`;
      return { detail: text, severity: optional ? 'warning' : 'failed' };
    });
  return faults.length > 0 ? faults : `ready: ${Object.keys(checks).join(', ')}`;
}

/** Another program answers, or none does. A client far away may have another route, so this is a warning. */
async function findPublicUrl({ isLive, settings }: ServiceSubject): Promise<Outcome> {
  const url = siteUrlOf(settings);
  if (url === '') throw new CheckSkippedError('MILLRACE_SITE_URL is not set');
  if (!isLive) throw new CheckSkippedError('no service is running');
  try {
    const response = await fetch(`${url}/livez`, { signal: AbortSignal.timeout(answerMs), redirect: 'manual' });
    const text = (await response.text()).slice(0, 100);
    return text === JSON.stringify({ status: 'ok' })
      ? `${url} answers`
      : [`${url}/livez is answered by another program (${response.status})`];
  } catch (error) {
    return [`no answer from ${url} (${networkFault(error)})`];
  }
}
