import { isNotTls } from '../../base/network-fault.ts';
import type { EndpointFacts } from '../target.ts';
import { fine, problem, warning, type Finding, type PreflightCheck } from './findings.ts';
import type { PreflightContext } from './preflight-context.ts';

/** Checks whether the target is reachable and accepts batches at its address. */
export const checkTarget: PreflightCheck = {
  name: 'target',
  run: async (context) => {
    const facts = await context.endpoint();
    if (facts !== undefined) return [findingFor(context, facts)];
    const target = await context.target();
    return target === undefined ? [] : [fine(`${target.description} of this service`)];
  },
  late: (context, seconds) => unreachable(context, `no response within ${seconds} s`),
};

function findingFor(context: PreflightContext, facts: EndpointFacts): Finding {
  const { words } = context;
  const url = addressOf(context);
  switch (facts.kind) {
    case 'takes_batches':
      return fine(`${url} accepts batches`);
    case 'unreachable':
      return unreachable(context, facts.fault);
    case 'busy':
      return warning(
        'target_busy',
        `${url} answers ${facts.status} at the moment`,
        'the run waits until it accepts events',
      );
    case 'moved': {
      const to = facts.to === undefined ? 'elsewhere' : `to ${facts.to}`;
      return problem('target_moved', `${url} redirects ${to}`, `use the final address as ${words.targetUrl}`);
    }
    case 'elsewhere':
      return problem(
        'target_base_path',
        `expected an address below which /batch/ accepts events, got ${url}`,
        `set ${words.targetUrl} to ${facts.url}`,
      );
    case 'foreign':
      return problem(
        'target_foreign',
        `expected a service that accepts events at ${batchOf(url)}, got ${facts.status}`,
        `set ${words.targetUrl} to the address of such a service`,
      );
  }
}

function unreachable(context: PreflightContext, fault: string): Finding {
  return problem(
    'target_unreachable',
    `${addressOf(context)} cannot be reached (${fault})`,
    isNotTls(fault)
      ? `it does not speak TLS: use http:// instead of https:// in ${context.words.targetUrl}`
      : `start it, or correct ${context.words.targetUrl}`,
  );
}

function addressOf({ options: { target } }: PreflightContext): string {
  return target.kind === 'http' ? target.url : 'the project';
}

function batchOf(url: string): string {
  return `${url.replace(/\/+$/, '')}/batch/`;
}
