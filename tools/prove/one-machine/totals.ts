import { setTimeout as sleep } from 'node:timers/promises';
import type { ProofService } from './service.ts';

/** Events of the project, live and of its history. */
export interface Totals {
  readonly standard: number;
  readonly historical: number;
}

const project = '/api/projects/@current';
/** Beyond, nothing more comes. */
const stillMs = 120_000;
const pollMs = 200;

/** Waits until as many events are stored; gives what there is when that is not so and no more come. */
export async function untilStored(service: ProofService, expected: Totals): Promise<Totals> {
  let [before, changedAt] = ['', Date.now()];
  for (;;) {
    const { total } = await service.call<{ total: Totals }>('GET', `${project}/events/counts/`);
    const isThere = total.standard === expected.standard && total.historical === expected.historical;
    const now = `${total.standard} ${total.historical}`;
    if (now !== before) [before, changedAt] = [now, Date.now()];
    if (isThere || Date.now() - changedAt > stillMs) return total;
    await sleep(pollMs);
  }
}

export async function usage(service: ProofService): Promise<Totals> {
  return (await service.call<{ total: Totals }>('GET', `${project}/usage/`)).total;
}
