import { describe, expect, it } from 'vitest';
import { SandboxError, type EventOutcome, type LogLine, type SandboxErrorKind } from '../../plugins/sandbox/sandbox.ts';
import { createSuspension } from './make-step.ts';

const fine: EventOutcome = { kind: 'unchanged' };
const failing = (kind: SandboxErrorKind): EventOutcome => ({
  kind: 'failed',
  error: new SandboxError(kind, 'no', { method: 'processEvent' }),
});

function bench() {
  const lines: LogLine[] = [];
  let now = 0;
  let heldMs = 0;
  const suspension = createSuspension({ log: (line) => void lines.push(line) }, () => now);
  const asked: number[] = [];
  return {
    lines,
    asked,
    trouble: () => suspension.trouble(),
    pass: (ms: number) => void (now += ms),
    hold: (ms: number) => void (heldMs = ms),
    run: async (...outcomes: readonly EventOutcome[]) => {
      const results = await suspension.run(outcomes.length, async (from, to) => {
        asked.push(to - from);
        now += heldMs;
        return outcomes.slice(from, to);
      });
      return results.map(({ kind }) => kind);
    },
  };
}

describe('a plugin that hangs or crashes', () => {
  it.each<SandboxErrorKind>(['time', 'memory', 'crashed'])(
    'is suspended after three events in a row (%s), resumes when one succeeds, and reports both',
    async (kind) => {
      const { run, pass, trouble, lines, asked } = bench();
      expect(await run(fine, failing(kind), failing(kind))).toEqual(['unchanged', 'failed', 'failed']);
      expect(trouble()).toBe('');
      await run(failing(kind));
      expect(trouble()).toContain('suspended');
      expect(lines).toMatchObject([{ level: 'ERROR', source: 'SYSTEM' }]);
      asked.length = 0;
      expect(await run(fine, fine)).toEqual(['skipped', 'skipped']);
      expect(asked).toEqual([]);
      pass(5000);
      expect(await run(fine, fine, fine)).toEqual(['unchanged', 'unchanged', 'unchanged']);
      expect(asked).toEqual([1, 2]);
      expect(trouble()).toBe('');
    },
  );

  it('is tried with one event after a pause that doubles each time', async () => {
    const { run, pass, asked } = bench();
    const bad = failing('time');
    await run(bad, bad, bad);
    for (const pauseMs of [5000, 10_000, 20_000]) {
      asked.length = 0;
      pass(pauseMs);
      expect(await run(bad, fine)).toEqual(['failed', 'skipped']);
      expect(asked).toEqual([1]);
      pass(pauseMs - 1);
      expect(await run(fine)).toEqual(['skipped']);
      pass(1);
    }
  });

  it('takes at most a tenth of the time of the others', async () => {
    const { run, pass, asked, hold } = bench();
    const bad = failing('crashed');
    hold(4000);
    await run(bad, bad, bad);
    asked.length = 0;
    pass(35_999);
    expect(await run(fine)).toEqual(['skipped']);
    pass(1);
    expect(await run(fine)).toEqual(['unchanged']);
  });

  it('is not suspended if it only throws or fails occasionally', async () => {
    const { run, trouble } = bench();
    await run(...Array.from({ length: 20 }, () => failing('thrown')));
    for (let turn = 0; turn < 5; turn++) await run(failing('time'), failing('time'), fine);
    expect(trouble()).toBe('');
  });
});
