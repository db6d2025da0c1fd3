import { describe, expect, it } from 'vitest';
import { ApiError } from '../contract/errors.ts';
import { createBudgets } from './budgets.ts';
import { createAgreements, type Agreements, type ApprovedAgreement } from './agreements.ts';

function setUp(more: { agreement?: ApprovedAgreement; total?: number } = {}): {
  agreements: Agreements;
  advance(ms: number): void;
  approve(agreement: ApprovedAgreement | undefined): void;
  fail(): void;
} {
  let now = 1_000_000;
  let agreement = more.agreement;
  let fails = false;
  const agreements = createAgreements({
    mode: 'required',
    clock: { now: () => now },
    findApproved: async () => {
      if (fails) throw new Error('away');
      return agreement;
    },
    budgets: createBudgets({ clock: { now: () => now }, historicalTotal: async () => more.total ?? 0 }),
  });
  return {
    agreements,
    advance: (ms) => {
      now += ms;
    },
    approve: (next) => {
      agreement = next;
    },
    fail: () => {
      fails = true;
    },
  };
}

async function outcome(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'in';
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return `${error.status} after ${error.headers['retry-after']}`;
  }
}

describe('the agreed speed', () => {
  it('holds over time for batches of any size', async () => {
    const { agreements, advance } = setUp({ agreement: { eventsPerSecond: 1000 } });
    let taken = 0;
    for (let second = 0; second < 600; second++) {
      for (const size of [500, 900, 7000]) if ((await outcome(agreements.admit(1, size))) === 'in') taken += size;
      advance(1000);
    }
    expect(taken).toBeLessThanOrEqual(600 * 1000 + 10_000 + 7000);
    expect(taken).toBeGreaterThan(590 * 1000);
  });

  it('admits a batch larger than a full bucket, which is paid off afterwards', async () => {
    const { agreements, advance } = setUp({ agreement: { eventsPerSecond: 10 } });
    expect(await outcome(agreements.admit(1, 1000))).toBe('in');
    expect(await outcome(agreements.admit(1, 1))).toBe('429 after 91');
    advance(91_000);
    expect(await outcome(agreements.admit(1, 1))).toBe('in');
  });

  it('applies per project', async () => {
    const { agreements } = setUp();
    expect(await outcome(agreements.admit(1, 10_000))).toBe('in');
    expect(await outcome(agreements.admit(1, 1))).toBe('429 after 1');
    expect(await outcome(agreements.admit(2, 10_000))).toBe('in');
  });
});

describe('the total without an agreement', () => {
  it('is 20 million, including the events already stored', async () => {
    const { agreements } = setUp({ total: 19_999_000 });
    expect(await outcome(agreements.admit(1, 1000))).toBe('in');
    expect(await outcome(agreements.admit(1, 1))).toBe('429 after 300');
  });

  it('is lifted within seconds of an approval and applies again within seconds of its end', async () => {
    const { agreements, approve, advance } = setUp({ total: 20_000_000 });
    expect(await outcome(agreements.admit(1, 1))).toBe('429 after 300');
    approve({ eventsPerSecond: 100 });
    advance(5001);
    expect(await outcome(agreements.admit(1, 1000))).toBe('in');
    approve(undefined);
    advance(5001);
    expect(await outcome(agreements.admit(1, 1))).toBe('429 after 300');
  });

  it('answers 503 when the agreement cannot be read', async () => {
    const { agreements, fail } = setUp();
    fail();
    expect(await outcome(agreements.admit(1, 1))).toBe('503 after 5');
  });
});
