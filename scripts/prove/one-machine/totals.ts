import { setTimeout as sleep } from 'node:timers/promises';
import type { ProofService } from './service.ts';

/** Events of the project, live and of its history. */
export interface Totals {
  readonly standard: number;
  readonly historical: number;
}

const project = '/api/projects/@current';
const storedMs = 180_000;

/** Waits until as many events are stored; gives what there is, also when that is not so in time. */
export async function untilStored(service: ProofService, expected: Totals): Promise<Totals> {
  for (const end = Date.now() + storedMs; ; await sleep(100)) {
    const { total } = await service.call<{ total: Totals }>('GET', `${project}/events/counts/`);
    const isThere = total.standard === expected.standard && total.historical === expected.historical;
    if (isThere || Date.now() > end) return total;
  }
}

export async function usage(service: ProofService): Promise<Totals> {
  return (await service.call<{ total: Totals }>('GET', `${project}/usage/`)).total;
}
