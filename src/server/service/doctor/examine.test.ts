import { globSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../config/load.ts';
import { CheckSkippedError, definePart, nothingOpen, type Check } from './check.ts';
import { doctorParts } from './checks.ts';
import { examine } from './examine.ts';

const place = { url: 'http://127.0.0.1:9', isElsewhere: false, isInUse: false };
const declared = { checks: 'a `thing` is right', severity: 'warning', advice: 'Change it.' } as const;

async function statesOf(find: Check<typeof nothingOpen>['find'], env: Record<string, string> = {}) {
  const part = definePart({ title: 'Part', open: async () => nothingOpen, checks: { it: { ...declared, find } } });
  const { settings } = loadSettings({ env });
  const findings = await examine({ settings, place }, { parts: [part], checkMs: 200 });
  return findings.map(({ state, detail, advice }) => [state, detail, advice]);
}

describe('the examination', () => {
  it('reports a state, each fault with its advice, and a check that throws or hangs as a fault', async () => {
    expect(await statesOf(() => 'all is well')).toEqual([['ok', 'all is well', '']]);
    expect(await statesOf(() => [])).toEqual([['ok', 'a thing is right', '']]);
    expect(await statesOf(() => ['one', { detail: 'two', severity: 'failed' }])).toEqual([
      ['warning', 'one', 'Change it.'],
      ['failed', 'two', 'Change it.'],
    ]);
    const thrown = await statesOf(() => Promise.reject(new Error('no\n luck')));
    expect(thrown).toEqual([['warning', 'could not be checked: no luck', 'Change it.']]);
    const late = await statesOf(() => new Promise(() => {}));
    expect(late).toEqual([['warning', 'could not be checked: no answer within 0.2 s', 'Change it.']]);
    expect(await statesOf(() => Promise.reject(new CheckSkippedError('not here')))).toEqual([
      ['skipped', 'not here', ''],
    ]);
  });

  it('a part that cannot be opened is one fault, and its other checks are skipped', async () => {
    const checks = { opened: { ...declared, find: () => '' }, other: { ...declared, find: () => '' } };
    const open = async (): Promise<typeof nothingOpen> => Promise.reject(new Error('refused'));
    const part = definePart({ title: 'Part', opened: 'opened', open, checks });
    const findings = await examine({ settings: loadSettings({ env: {} }).settings, place }, { parts: [part] });
    expect(findings).toMatchObject([
      { code: 'opened', state: 'warning', detail: 'refused' },
      { code: 'other', state: 'skipped', detail: 'Part could not be opened' },
    ]);
  });

  it('makes checks concurrently', async () => {
    const waiting = { ...declared, find: async () => (await sleep(100), '') };
    const checks = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`check_${at}`, waiting]));
    const part = definePart({ title: 'Part', open: async () => nothingOpen, checks });
    const start = performance.now();
    const { settings } = loadSettings({ env: {} });
    expect(await examine({ settings, place }, { parts: [part, part] })).toHaveLength(100);
    expect(performance.now() - start).toBeLessThan(50 * 100);
  });

  it('no error of a server can print a secret', async () => {
    const env = {
      DATABASE_URL: 'postgres://me:p%40ss%22w%C3%B6rd@db.example.com/m',
      CLICKHOUSE_URL: 'http://me:hunter2@ch.example.com:8123/m',
      MILLRACE_KAFKA_PASSWORD: 'kafka-secret',
      MILLRACE_IMPORT_STAGING_SECRET_ACCESS_KEY: 'bucket/secret+',
    };
    const said = ['p%40ss%22w%C3%B6rd', 'p@ss"wörd', 'hunter2', 'kafka-secret', 'bucket/secret+'];
    const [[, detail = ''] = []] = await statesOf(() => Promise.reject(new Error(said.join(' and '))), env);
    expect(detail).toBe(`could not be checked: ${said.map(() => '(secret)').join(' and ')}`);
  });
});

describe('the table of checks', () => {
  const codes = doctorParts.flatMap(({ checks }) => Object.keys(checks));

  it('has each code once, with what to change', () => {
    expect(codes.length).toBeGreaterThan(50);
    expect(new Set(codes).size).toBe(codes.length);
    const all = doctorParts.flatMap(({ checks }) => Object.values(checks));
    expect(all.filter(({ checks, advice }) => !/^[a-z`]/.test(checks) || !/^[A-Z].*\.$/.test(advice))).toEqual([]);
  });

  it('has a test that plants the fault of each check', () => {
    const tests = globSync('src/server/service/doctor/*.test.ts')
      .map((path) => readFileSync(path, 'utf8'))
      .join('\n');
    expect(codes.filter((code) => !new RegExp(`\\b${code}\\b`).test(tests))).toEqual([]);
  });
});
