import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { exitCodes } from './exit-codes.ts';
import { runCommand, spawnCommand } from '../../test/support/command.ts';

describe('the command line for users and scripts', () => {
  it.each([
    ['--help', 'Usage: millrace'],
    ['help configs', 'enable'],
    ['help import run', 'Usage: millrace import run'],
    ['serve --help', '--data-dir <value>'],
    ['serve --help', 'MILLRACE_PORT, default 8000'],
    ['--version', '0.'],
  ])('millrace %s goes to stdout with code 0', async (args, expected) => {
    const { code, stdout, stderr } = await runCommand(args.split(' '));
    expect(stdout).toContain(expected);
    expect(stderr).toBe('');
    expect(code).toBe(exitCodes.ok.code);
  });

  it.each([
    ['evnts list', 'did you mean events?'],
    ['events lst --help', 'events has no command "lst"; did you mean list?'],
    ['configs lst', 'Did you mean list?'],
    ['serve --prot 1', 'Did you mean --port?'],
    ['help import rum', 'import has no command "rum"; did you mean run?'],
    ['send', 'expected a file, or - for stdin'],
    ['send src', 'got the directory src; "millrace import" reads directories'],
    ['configs list --family nonsense', 'Allowed choices are transformations, import-apps'],
    ['completion tcsh', 'Allowed choices are bash, zsh, fish'],
    ['events list --url ftp://x', '--url: expected an address'],
    ['events list --project x', '--project: expected the number of a project or @current, got: x'],
    ['configs delete 1 --family transformations', 'Add --yes'],
    ['dead-letters show', 'expected <id>: id of the dead letter'],
    ['send a.json --project-key phx_a', '--project-key: expected a project key (phc_…), got a personal key'],
    ['send - --retries x', '--retries: expected a whole number'],
    ['', 'Usage: millrace'],
  ])('millrace %s is a usage error with advice', async (args, expected) => {
    const env = { MILLRACE_PROJECT_API_KEY: 'phc_x' };
    const { code, stdout, stderr } = await runCommand(args === '' ? [] : args.split(' '), { env });
    expect(stderr).toContain(expected);
    expect(stdout).toBe('');
    expect(code).toBe(exitCodes.usage.code);
  });

  it.each<[string, keyof typeof exitCodes]>([
    ['--version', 'ok'],
    ['configs delete 1 --family transformations', 'usage'],
    ['config show --port many', 'invalidConfig'],
  ])('the exit code of millrace %s reaches the shell', async (args, reason) => {
    expect((await spawnCommand(args.split(' '))).code).toBe(exitCodes[reason].code);
  });

  it('a reader that closes the pipe ends it silently', async () => {
    const bin = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));
    const pipe = `'${process.execPath}' '${bin}' openapi | head -c 1; exit "\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', pipe]);
    expect([stdout, stderr]).toEqual(['{', '']);
  });

  it('works silently when the compile cache cannot be written', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-read-only-'));
    try {
      const root = fileURLToPath(new URL('../..', import.meta.url));
      await mkdir(join(folder, 'bin'));
      await copyFile(join(root, 'bin/millrace.js'), join(folder, 'bin/millrace.js'));
      await Promise.all(['src', 'package.json'].map((name) => symlink(join(root, name), join(folder, name))));
      // No folder can be made below a file.
      await writeFile(join(folder, 'node_modules'), '');
      const { code, stdout, stderr } = await spawnCommand(['--version'], { program: join(folder, 'bin/millrace.js') });
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('without a terminal, or with NO_COLOR, output has no colour', async () => {
    const { stdout, stderr } = await runCommand(['config', 'show', '--port', 'x']);
    expect(stdout + stderr).not.toContain('\u001b');
  });
});

describe('config show', () => {
  it('shows the origin of each value and hides secrets', async () => {
    const env = { MILLRACE_PORT: '9000', DATABASE_URL: 'postgres://me:hunter2@db/x' };
    const { code, stdout } = await runCommand(['config', 'show', '--host', '0.0.0.0', '--json'], { env });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      host: { value: '0.0.0.0', origin: 'flag (--host)' },
      port: { value: 9000, origin: 'environment (MILLRACE_PORT)' },
      database_url: { value: '(set, hidden)', origin: 'environment (DATABASE_URL)' },
      data_dir: { value: './data', origin: 'default' },
    });
    expect(stdout).not.toContain('hunter2');
  });

  it.each([
    ['a flag', ['--port', 'many'], {}, 'expected a whole number from 0 to 65535, got: "many"'],
    ['an unknown variable', [], { MILLRACE_PROT: '1' }, 'MILLRACE_PROT: unknown setting'],
  ])('%s that is invalid ends with code 78', async (_name, args, env: Record<string, string>, expected) => {
    const { code, stderr } = await runCommand(['config', 'show', ...args], { env });
    expect(stderr).toContain(expected);
    expect(code).toBe(exitCodes.invalidConfig.code);
  });
});

describe('completion', () => {
  it.each(['bash', 'zsh', 'fish'])('%s: a script with every command', async (shell) => {
    const { code, stdout } = await runCommand(['completion', shell]);
    expect(code).toBe(0);
    for (const word of ['configs', 'rotate-token', '--historical', 'transformations']) expect(stdout).toContain(word);
  });

  it('bash completes commands, options and values', async () => {
    const script = (await runCommand(['completion', 'bash'])).stdout;
    const complete = async (...words: string[]): Promise<string[]> => {
      const setup = `COMP_WORDS=(millrace ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}`;
      const text = execFileSync('bash', ['-c', `${script}\n${setup}\n_millrace\nprintf '%s\\n' "\${COMPREPLY[@]}"`]);
      return text.toString().trim().split('\n');
    };
    expect(await complete('con')).toEqual(['configs', 'config']);
    expect(await complete('configs', 're')).toEqual(['reorder', 'restore']);
    expect(await complete('configs', 'list', '--fam')).toEqual(['--family']);
    expect(await complete('configs', 'list', '--family', 'im')).toEqual(['import-apps']);
    expect(await complete('send', '--from', 'mix')).toEqual(['mixpanel']);
    expect(await complete('completion', 'z')).toEqual(['zsh']);
  });
});

describe('the service that healthcheck and doctor check', () => {
  const env = { MILLRACE_URL: 'http://127.0.0.1:9' };
  it.each([
    ['MILLRACE_URL', [], 'cannot reach http://127.0.0.1:9 '],
    ['the address that is given', ['http://127.0.0.1:11'], 'cannot reach http://127.0.0.1:11 '],
    ['this machine, with a port', ['--port', '13'], 'cannot reach http://127.0.0.1:13 '],
  ])('healthcheck checks %s', async (_name, args, expected) => {
    const { code, stderr } = await runCommand(['healthcheck', ...args], { env });
    expect(stderr).toContain(expected);
    expect(code).toBe(exitCodes.unreachable.code);
  });

  it('doctor reports that no service responds at MILLRACE_URL, and continues', async () => {
    const noData = { ...env, MILLRACE_DATA_DIR: join(tmpdir(), 'millrace-none') };
    const { stdout } = await runCommand(['doctor', '--json'], { env: noData });
    const findings = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(findings).toContainEqual(
      expect.objectContaining({
        code: 'service_running',
        state: 'warning',
        detail: expect.stringContaining('no service responds at http://127.0.0.1:9'),
      }),
    );
  });
});

describe('without a service', () => {
  it.each([['events list'], ['configs list --family transformations'], ['healthcheck'], ['openapi']])(
    'millrace %s ends with code 69',
    async (args) => {
      const url = 'http://127.0.0.1:9';
      const words = args === 'healthcheck' ? ['healthcheck', url] : [...args.split(' '), '--url', url];
      const { code, stderr } = await runCommand(words);
      expect(stderr).toContain('cannot reach');
      expect(code).toBe(exitCodes.unreachable.code);
    },
  );
});

it.each(['127.0.0.1:8000', 'localhost:8000', 'events.example.com'])('the address %s lacks a scheme', async (url) => {
  const { code, stderr } = await runCommand(['events', 'list', '--url', url]);
  expect([code, stderr]).toEqual([exitCodes.usage.code, expect.stringContaining(`did you mean http://${url}?`)]);
});

it('a command with https:// for a port that speaks http names the address to use', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const { code, stderr } = await runCommand(['events', 'list', '--url', `https://127.0.0.1:${port}`]);
  server.close();
  expect(stderr).toContain(`it does not speak TLS: use http://127.0.0.1:${port}`);
  expect(code).toBe(exitCodes.unreachable.code);
});
