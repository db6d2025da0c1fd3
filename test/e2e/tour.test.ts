/** The tour as a newcomer follows it: every block that is for the shell, as written, with the real service. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../source-tree.ts';
import { openCommandShell } from '../support/command-shell.ts';
import { apiGet, projectKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

interface Step {
  /** A block for the shell. */
  readonly commands: string;
  /** What the page says that it prints; empty: it says nothing. */
  readonly printed: string;
}

/** The blocks for the shell in their order, each with what is shown below it. */
async function readSteps(): Promise<Step[]> {
  const page = await readFile(join(root, 'docs/tour.md'), 'utf8');
  const blocks = [...page.matchAll(/^```(\w+)\n([^]*?)^```/gm)].map(([, language = '', text = '']) => ({
    language,
    text,
  }));
  return blocks.flatMap(({ language, text }, index) => {
    const next = blocks[index + 1];
    return language === 'sh' ? [{ commands: text, printed: next?.language === 'text' ? next.text : '' }] : [];
  });
}

/** Lines without what differs from run to run: times, durations, keys, ids. */
function steady(text: string): string[] {
  return text
    .split('\n')
    .map((line) =>
      line
        .replaceAll(/\d{4}-\d\d-\d\d(T[\d:.]+Z?)?/g, '<time>')
        .replaceAll(/[\d.]+ (ms|s)\b/g, '<duration>')
        .replaceAll(/\b[0-9a-f]{8}-[0-9a-f-]{27}\b/g, '<id>')
        .replaceAll(/127\.0\.0\.1:\d+/g, '<address>')
        .replaceAll(/phc_\w+/g, '<key>')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .filter((line) => line !== '');
}

/** Commands that look at what is there. What was accepted is stored a moment later: a person would look again. */
const looks = /npx millrace [\w-]+ (list|counts)\b/;

it('the tour can be followed word by word: every block runs and prints what the page shows', async () => {
  await using data = await tempDataDir();
  await using folder = await tempDataDir();
  await using shell = await openCommandShell({ exports: true });
  const server = await startServer(data.path);
  let key = '';
  const run = async (commands: string): Promise<string> => {
    const own = commands.replaceAll('<project key>', projectKey).replaceAll('http://127.0.0.1:8000', server.url);
    const before = `export MILLRACE_URL=${server.url} MILLRACE_DATA_DIR='${data.path}' MILLRACE_API_KEY='${key}'`;
    const shown = await shell.run(`${before}\n${own}\necho; echo "KEY=$MILLRACE_API_KEY"`, folder.path);
    key = /^KEY=(.*)$/m.exec(shown)?.[1] ?? '';
    return shown;
  };
  const follow = async ({ commands, printed }: Step): Promise<void> => {
    const missing = async (): Promise<string[]> => {
      const shown = new Set(steady(await run(commands)));
      return steady(printed).filter((line) => !shown.has(line));
    };
    if (looks.test(commands)) await expect.poll(missing, { timeout: 60_000, interval: 500 }).toEqual([]);
    else expect([commands, await missing()]).toEqual([commands, []]);
    if (commands.includes(' configs enable ')) await untilTransformed(server);
  };
  try {
    const [start, ...steps] = await readSteps();
    // What made this checkout, and the service that runs already.
    expect(start?.commands).toBe('npm ci\nnpm start\n');
    expect(steps.length).toBeGreaterThan(8);
    for (const step of steps) await follow(step);
  } finally {
    await server.terminate();
  }
}, 300_000);

/** A config that was enabled takes part a moment later. */
async function untilTransformed(server: Pick<TestServer, 'url'>): Promise<void> {
  const batch = [{ event: 'probe', distinct_id: 'probe', properties: { plan: 'team' } }];
  const lookAgain = async (): Promise<readonly unknown[]> => {
    await fetch(`${server.url}/batch/`, { method: 'POST', body: JSON.stringify({ api_key: projectKey, batch }) });
    const path = '/api/projects/@current/events/?distinct_id=probe';
    const { results } = await apiGet<{ results: { properties: { tier?: string } }[] }>(server, path);
    return results.map(({ properties }) => properties.tier);
  };
  await expect.poll(lookAgain, { timeout: 60_000, interval: 500 }).toContain('paid');
}
