/**
 * Makes requests from the OpenAPI document with Schemathesis, a tool of others, and checks every answer by the document: status,
 * type, headers and body. `npm run prove -- schemathesis [--examples 20] [--seed 1]
 * [--phases examples,coverage,fuzzing]`. It is installed from PyPI into a temporary
 * directory; where there is no Python, or nothing to install from, this says so and ends with 0.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startService } from '../compat/service.ts';

const version = '4.32.5';
const document = fileURLToPath(new URL('../../docs/reference/openapi.json', import.meta.url));
/** Rules for responses. Whether unusual requests are refused does not matter here: the API accepts numbers as text, for example. */
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
];

const { values } = parseArgs({
  options: {
    /** Of each operation, in the phase that draws values. */
    examples: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    phases: { type: 'string', default: 'examples,coverage,fuzzing' },
  },
});

const directory = await mkdtemp(join(tmpdir(), 'millrace-schemathesis-'));
try {
  const missing = install();
  if (missing === undefined) process.exitCode = await check();
  else console.log(`skipped: ${missing}`);
} finally {
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
}

/** Why it cannot be had; undefined: it is there. */
function install(): string | undefined {
  const python = spawnSync('python3', ['-m', 'venv', join(directory, 'python')], { encoding: 'utf8' });
  if (python.error !== undefined || python.status !== 0) return 'expected python3 with venv, got none';
  const options = ['--quiet', '--disable-pip-version-check', `schemathesis==${version}`];
  const pip = spawnSync(inPython('pip'), ['install', ...options], { encoding: 'utf8' });
  if (pip.status === 0) return undefined;
  return `expected to install Schemathesis ${version} from PyPI, got: ${pip.stderr.trim().split('\n').at(-1) ?? ''}`;
}

function inPython(name: string): string {
  return join(directory, 'python/bin', name);
}

/** The exit code: 0 when every answer was as the document has it. */
async function check(): Promise<number> {
  // What is made up reaches no other machine.
  await using service = await startService(directory, { MILLRACE_NPM_REGISTRY: 'http://127.0.0.1:1/' });
  const options = [
    '--url',
    service.url,
    '--header',
    `Authorization: Bearer ${service.key}`,
    '--checks',
    checks.join(','),
    '--phases',
    values.phases,
    '--max-examples',
    values.examples,
    '--seed',
    values.seed,
    '--continue-on-failure',
    '--request-timeout',
    '60',
    '--suppress-health-check',
    'all',
    '--warnings',
    'off',
    // A stream has no end to wait for, and without the project and the key nothing else can be asked.
    '--exclude-path-regex',
    '(live_events|reset_token|personal_api_keys)',
    '--exclude-by',
    'method == "DELETE" and path == "/api/projects/{project_id}"',
  ];
  const run = spawn(inPython('st'), ['run', document, ...options], { cwd: directory, stdio: 'inherit' });
  const [code] = (await once(run, 'exit')) as [number | null];
  return code ?? 1;
}
