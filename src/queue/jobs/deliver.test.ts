import { describe, expect, it } from 'vitest';
import { SandboxError, type SandboxInstance } from '../../plugins/sandbox/sandbox.ts';
import { deliver, type DeliveryMethod } from './deliveries.ts';
import type { RunOutcome } from './outcome.ts';
import type { Job } from './queue.ts';
import { deliveryEvent, fakeSandbox, retryError, thrownError, type FakePlugin } from '../../../test/support/jobs.ts';

// Doubled: the instance, because it has to fail on request.

type Call = NonNullable<FakePlugin['call']>;

async function instanceOf(call: Call): Promise<SandboxInstance> {
  const settings = {};
  const { sandbox, services } = fakeSandbox({ call });
  const program = { pluginName: 'App', code: '', configId: 1, projectId: 1, label: 'App (1)' };
  const attachments = new Map();
  return sandbox.open({ ...program, settings, attachments, services: services({} as never) });
}

function jobOf(method: DeliveryMethod, names: readonly string[], attempts = 1, attemptsMax = 6): Job {
  return {
    id: 'j',
    projectId: 1,
    configId: 1,
    kind: 'delivery',
    type: method,
    operation: 'deliver',
    payload: { events: names.map((name) => deliveryEvent(name)) } as unknown as Job['payload'],
    state: 'running',
    attempts,
    attemptsMax,
    runAt: '',
    error: '',
    createdAt: '',
    startedAt: '',
    finishedAt: null,
  };
}

function left(outcome: RunOutcome): string[] | undefined {
  const events = 'more' in outcome ? outcome.more?.payload?.['events'] : undefined;
  return (events as { event: string }[] | undefined)?.map(({ event }) => event);
}

const never = new AbortController().signal;
const nameOf = (target: Parameters<Call>[0]): string => ('events' in target ? (target.events[0]?.event ?? '') : '');

describe('onEvent', () => {
  it('is called once per event, started in order, at most ten at a time', async () => {
    const begun: string[] = [];
    let running = 0;
    let together = 0;
    const instance = await instanceOf(async (target) => {
      begun.push(nameOf(target));
      together = Math.max(together, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
    });
    const names = Array.from({ length: 25 }, (_, n) => `e${n}`);
    const outcome = await deliver(instance, jobOf('onEvent', names), {}, never);
    expect(outcome).toMatchObject({ kind: 'done', counts: { succeeded: 25, failed: 0 } });
    expect(begun).toEqual(names);
    expect(together).toBe(10);
  });

  it('every call except the last of a delivery indicates that more follow', async () => {
    const more: unknown[] = [];
    const instance = await instanceOf(async (target) => void more.push('more' in target));
    const names = Array.from({ length: 20 }, (_, n) => `e${n}`);
    await deliver(instance, jobOf('onEvent', names), {}, never);
    expect(more).toEqual([...names.slice(1).map(() => true), false]);
  });

  it('a failing event does not affect the others, and is kept for a manual retry', async () => {
    const instance = await instanceOf(async (target) => {
      if (nameOf(target) === 'bad') throw thrownError('no', 'onEvent');
    });
    const outcome = await deliver(instance, jobOf('onEvent', ['a', 'bad', 'b']), {}, never);
    expect(outcome).toMatchObject({ kind: 'failed', counts: { succeeded: 2, failed: 1 } });
    expect(left(outcome)).toEqual(['bad']);
    expect(outcome.failures?.[0]?.event).toMatchObject({ event: 'bad', distinct_id: 'ada' });
  });

  it('a RetryError holds back those after it and repeats none before it; delays double from 5 s', async () => {
    const names = Array.from({ length: 12 }, (_, n) => `e${n}`);
    const instance = await instanceOf(async (target) => {
      if (nameOf(target) === 'e3') throw retryError('later', 'onEvent');
    });
    const first = await deliver(instance, jobOf('onEvent', names), {}, never);
    expect(left(first)).toEqual(['e3', 'e10', 'e11']);
    // The nine successful ones do not count against e3, which has five more attempts.
    expect(first).toMatchObject({ kind: 'retry', delayMs: 5000, more: { attemptsMax: 6 } });
    const delays: number[] = [];
    for (let attempt = 2; attempt <= 5; attempt += 1) {
      const outcome = await deliver(instance, jobOf('onEvent', ['e3'], attempt), {}, never);
      delays.push(outcome.kind === 'retry' ? outcome.delayMs : -1);
    }
    expect(delays).toEqual([10_000, 20_000, 40_000, 80_000]);
  });

  it('the last attempt abandons only that event, and those after it are delivered', async () => {
    const names = Array.from({ length: 15 }, (_, n) => `e${n}`);
    const instance = await instanceOf(async (target) => {
      if (nameOf(target) === 'e0') throw retryError('later', 'onEvent');
    });
    const outcome = await deliver(instance, jobOf('onEvent', names, 6), {}, never);
    expect(outcome).toMatchObject({ kind: 'failed', counts: { succeeded: 14, failed: 1 } });
    expect(left(outcome)).toEqual(['e0']);
  });

  it('stopping keeps undelivered events', async () => {
    const names = Array.from({ length: 14 }, (_, n) => `e${n}`);
    const instance = await instanceOf(async (target) => {
      if (nameOf(target) >= 'e5') throw new SandboxError('aborted', 'stopped', { method: 'onEvent' });
    });
    const outcome = await deliver(instance, jobOf('onEvent', names), {}, never);
    expect(outcome).toMatchObject({ kind: 'stopped', counts: { succeeded: 5 } });
    expect(left(outcome)).toEqual(['e5', 'e6', 'e7', 'e8', 'e9', 'e10', 'e11', 'e12', 'e13']);
  });
});

describe('exportEvents', () => {
  it('gets all events in one call, without those that the settings ignore', async () => {
    const seen: string[][] = [];
    const instance = await instanceOf(async (target) => {
      if (target.kind === 'exportEvents') seen.push(target.events.map(({ event }) => event));
    });
    const settings = { exportEventsToIgnore: '$feature_flag_called, noise' };
    const outcome = await deliver(instance, jobOf('exportEvents', ['a', 'noise', 'b']), settings, never);
    expect(outcome).toEqual({ kind: 'done', counts: { succeeded: 2, failed: 0 } });
    expect(await deliver(instance, jobOf('exportEvents', ['noise']), settings, never)).toEqual({ kind: 'done' });
    expect(seen).toEqual([['a', 'b']]);
  });

  it.each([
    [1, 3000],
    [2, 6000],
    [14, 3000 * 2 ** 13],
  ])('a RetryError at attempt %i is tried again after %i ms', async (attempt, delayMs) => {
    const instance = await instanceOf(async () => {
      throw retryError('later', 'exportEvents');
    });
    const outcome = await deliver(instance, jobOf('exportEvents', ['a'], attempt, 15), {}, never);
    expect(outcome).toMatchObject({ kind: 'retry', delayMs });
  });

  it.each([
    ['a RetryError at the last attempt', retryError('later', 'exportEvents'), 15],
    ['any other error', thrownError('no', 'exportEvents'), 1],
  ])('%s is final and counts every event', async (_name, error, attempt) => {
    const instance = await instanceOf(async () => {
      throw error;
    });
    const outcome = await deliver(instance, jobOf('exportEvents', ['a', 'b'], attempt, 15), {}, never);
    expect(outcome).toMatchObject({ kind: 'failed', counts: { succeeded: 0, failed: 2 } });
  });
});
