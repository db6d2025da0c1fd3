import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { startEndpoint } from '../send/test-endpoint.ts';

const guides = fileURLToPath(new URL('../../../docs/guides/', import.meta.url));
const bin = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
const names = (await readdir(guides)).filter((name) => /^migrate-.*\.md$/.test(name));
const run = promisify(execFile);

/** The commands below the heading, as a person would copy them. */
function commandsOf(text: string, heading: string): string {
  const section = text.split(/^## /m).find((each) => each.startsWith(heading)) ?? '';
  return [...section.matchAll(/^```sh\n([^]*?)^```/gm)].map((match) => match[1] ?? '').join('\n');
}

describe.concurrent('the guides for those who move from another tool', () => {
  it('there is one per source', () => {
    expect(names).toHaveLength(7);
  });

  it.each(names)('%s: its example can be run as written', async (name) => {
    await using endpoint = await startEndpoint(() => 'keep');
    const folder = await mkdtemp(join(tmpdir(), 'millrace-guide-'));
    try {
      const commands = commandsOf(await readFile(join(guides, name), 'utf8'), 'Try it with made-up records');
      expect(commands).toContain('npx millrace import ');
      const script = commands
        .replaceAll('npx millrace', `"${process.execPath}" "${bin}"`)
        .replaceAll('http://127.0.0.1:8000', endpoint.url)
        .replaceAll('<project key>', 'phc_test');
      const env = { PATH: '/usr/bin:/bin', NO_COLOR: '1' };
      const { stdout } = await run('/bin/sh', ['-euc', script], { cwd: folder, env });
      expect(stdout).toContain('check passed');
      expect(endpoint.kept.length).toBeGreaterThan(1);
      expect(await readFile(join(folder, 'report.html'), 'utf8')).toContain('<html');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
