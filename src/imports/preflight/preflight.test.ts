import { describe, expect, it } from 'vitest';
import type { PreflightResult } from '../../contract/import-preflight.ts';
import { runOptions } from '../../../test/support/runs.ts';
import { fieldWords, flagWords } from '../run/advice-words.ts';
import { SourceWaitError, type Source } from '../source.ts';
import type { Staging } from '../staging.ts';
import type { EndpointFacts, Target } from '../target.ts';
import { createPreflight, type CreatePreflightDeps } from './preflight.ts';

const lines = Buffer.from('{"event":"A","properties":{"time":1704067200,"distinct_id":"u","$insert_id":"1"}}\n');

const source: Source = {
  concurrency: 1,
  listParts: async () => [{ key: 'a', stable: true, bytes: lines.length }],
  async *open() {
    yield { lines, count: 1, bytesRead: lines.length };
  },
};

const staging: Staging = {
  description: 'the directory x',
  write: async () => ({ bytes: 2, sha256: '' }),
  async *read() {
    yield Buffer.alloc(0);
  },
  list: async () => [],
  remove: async () => undefined,
};

const hangs = (): Promise<never> => new Promise(() => undefined);

function targetOf(endpoint: () => Promise<EndpointFacts>): Target {
  return {
    description: 'x',
    deliver: hangs,
    settled: hangs,
    reader: undefined,
    probe: { endpoint, projectKey: async () => ({ kind: 'known' }), reader: async () => ({ kind: 'reads' }) },
  };
}

function look(changed: Partial<CreatePreflightDeps>): Promise<PreflightResult> {
  const preflight = createPreflight({
    clock: { now: () => Date.parse('2024-06-01T00:00:00Z') },
    staging,
    quota: { room: async () => ({ shortage: undefined, bytes: undefined }) },
    words: flagWords,
    openSource: async () => source,
    openTarget: async () => targetOf(async () => ({ kind: 'takes_batches' })),
    timeLimitMs: 100,
    ...changed,
  });
  const options = { ...runOptions, format: 'mixpanel', target: { kind: 'http', url: 'https://a.example' } } as const;
  return preflight({ options, signal: new AbortController().signal });
}

const codesOf = ({ findings }: PreflightResult): string[] => findings.map(({ check, code }) => `${check} ${code}`);

describe('the preflight of an import', () => {
  it('says that everything is fine', async () => {
    const result = await look({});
    expect(result.verdict).toBe('passed');
    expect(new Set(result.findings.map(({ level }) => level))).toEqual(new Set(['fine']));
    expect(codesOf(result)).toContain('source fine');
  });

  it('ends in time with a target that never answers, and still knows the source', async () => {
    const result = await look({ openTarget: async () => targetOf(hangs) });
    expect(result.verdict).toBe('failed');
    expect(result.findings[0]).toMatchObject({
      check: 'target',
      code: 'target_unreachable',
      advice: expect.any(String),
    });
    expect(codesOf(result)).toContain('source fine');
    expect(result.took_ms).toBeLessThan(1000);
  });

  it('a source that is slow, or busy, is no problem: the export waits for it', async () => {
    const slow = await look({ openSource: hangs });
    expect([slow.verdict, codesOf(slow)]).toEqual(['passed', expect.arrayContaining(['source source_slow'])]);
    const busy = { ...source, listParts: () => Promise.reject(new SourceWaitError('429', { unlimited: true })) };
    const result = await look({ openSource: async () => busy });
    expect([result.verdict, codesOf(result)]).toEqual(['passed', expect.arrayContaining(['source source_busy'])]);
  });

  it.each([
    [59_000, 'fine'],
    [-100_000, 'warning'],
    [3_600_000, 'problem'],
  ])('a clock that is %i ms off is %s', async (skewMs, level) => {
    const result = await look({ openTarget: async () => targetOf(async () => ({ kind: 'takes_batches', skewMs })) });
    expect(result.findings.find(({ check }) => check === 'clock')?.level).toBe(level);
  });

  it('advice names flags on the command line, and fields in the API', async () => {
    const away = { openTarget: async () => targetOf(async () => ({ kind: 'unreachable', fault: 'x' })) } as const;
    expect((await look(away)).findings[0]?.advice).toContain('--to');
    expect((await look({ ...away, words: fieldWords })).findings[0]?.advice).toContain('target_url');
  });

  it('what breaks in a check is a warning of that check, and costs no other', async () => {
    const result = await look({ quota: { room: () => Promise.reject(new Error('odd')) } });
    expect(codesOf(result)).toEqual(expect.arrayContaining(['staging check_failed', 'source fine']));
  });
});
