import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError, fileName, flagName, loadSettings } from './load.ts';
import { settingDefinitions } from './settings.ts';

const dir = mkdtempSync(join(tmpdir(), 'millrace-config-'));
afterAll(() => rmSync(dir, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

function problemsOf(load: () => unknown): readonly string[] {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('loadSettings', () => {
  it('gives every setting its default and reports it', () => {
    const { settings, origins } = loadSettings({ env: {} });
    expect(settings.host).toBe('127.0.0.1');
    expect(settings.port).toBe(8000);
    expect(new Set(Object.values(origins))).toEqual(new Set(['default']));
  });

  it('prefers flag over environment over file over default', () => {
    const path = file('settings.json', '{"port": 1001, "host": "::1", "log_level": "warn"}');
    const env = { MILLRACE_CONFIG_FILE: path, MILLRACE_PORT: '1002', MILLRACE_HOST: '0.0.0.0' };
    const { settings, origins } = loadSettings({ env, flags: { port: '1003' } });
    expect([settings.port, settings.host, settings.logLevel]).toEqual([1003, '0.0.0.0', 'warn']);
    expect([origins.port, origins.host, origins.logLevel]).toEqual([
      'flag (--port)',
      'environment (MILLRACE_HOST)',
      'file',
    ]);
  });

  it('reads a secret from the file in NAME_FILE', () => {
    const path = file('secret', 'postgres://u:p@localhost/db\n');
    const { settings, origins } = loadSettings({ env: { DATABASE_URL_FILE: path } });
    expect(settings.databaseUrl).toBe('postgres://u:p@localhost/db');
    expect(origins.databaseUrl).toBe('environment (DATABASE_URL_FILE)');
  });

  it('a role of older versions is replaced by its successors, with a note', () => {
    const { settings, notes } = loadSettings({ env: { MILLRACE_ROLES: 'capture, worker,api' } });
    expect(settings.roles).toEqual(['capture', 'pipeline', 'jobs', 'api']);
    expect(notes).toEqual(['MILLRACE_ROLES: "worker" was renamed to "pipeline,jobs"; update the setting']);
    expect(loadSettings({ env: {} }).notes).toEqual([]);
  });

  it('reports all problems with what was expected', () => {
    const env = {
      MILLRACE_PORT: '70000',
      MILLRACE_TRUST_PROXY: 'perhaps',
      MILLRACE_LOG_LEVEL: 'loud',
      MILLRACE_ROLES: 'api,x',
    };
    const problems = problemsOf(() => loadSettings({ env }));
    expect(problems).toHaveLength(4);
    expect(problems.join('\n')).toMatch(/MILLRACE_PORT .*expected a whole number from 0 to 65535, got: "70000"/);
    expect(problems.join('\n')).toMatch(/expected one of debug, info, warn, error, silent, got: "loud"/);
  });

  it('never repeats the value of a secret', () => {
    const problems = problemsOf(() =>
      loadSettings({ env: { MILLRACE_BOOTSTRAP_PROJECT_API_KEY_FILE: '/nowhere/at/all' } }),
    );
    expect(problems[0]).toContain('expected a readable file');
  });

  it('refuses unknown variables and file entries', () => {
    const path = file('typo.json', '{"prot": 1}');
    expect(problemsOf(() => loadSettings({ env: { MILLRACE_PROT: '1' }, file: path }))).toHaveLength(2);
  });
});

it('every setting has a distinct variable and flag', () => {
  const names = Object.keys(settingDefinitions) as (keyof typeof settingDefinitions)[];
  expect(new Set(names.map((name) => settingDefinitions[name].env)).size).toBe(names.length);
  expect([flagName('dataDir'), fileName('dataDir')]).toEqual(['--data-dir', 'data_dir']);
});
