/** The tour as a newcomer follows it: every block that is for the shell, as written, with the real service. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openCommandShell } from '../support/command-shell.ts';
import { spawnCommand } from '../support/command.ts';
import { readBlocks } from '../support/page-blocks.ts';
import { shareOf } from '../support/page-commands.ts';
import { apiGet, projectKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

const tour = 'docs/tour.md';

interface Step {
  /** A block for the shell. */
  readonly commands: string;
  /** What the page says that it prints; empty: it says nothing. */
  readonly printed: string;
}

/** The blocks for the shell in their order, each with what is shown below it. */
function readSteps(): Step[] {
  const blocks = readBlocks(tour);
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
    .filter((line) => line !== '' && line !== '…');
}

/** Commands that look at what is there. What was accepted is stored a moment later: a person would look again. */
const looks = /npx millrace [\w-]+ (list|counts)\b/;

it('the tour can be followed word by word: every block runs and prints what the page shows', async () => {
  await using data = await tempDataDir();
  await using folder = await tempDataDir();
  await using shell = await openCommandShell({ exports: true, run: spawnCommand });
  const server = await startServer(data.path);
  let key = '';
  const run = async (commands: string): Promise<string> => {
    const own = commands.replaceAll('<project key>', projectKey).replaceAll('http://127.0.0.1:8000', server.url);
    const before = `export MILLRACE_URL=${server.url} MILLRACE_DATA_DIR='${data.path}' MILLRACE_API_KEY='${key}'`;
    const shown = await shell.run(`${before}\n${own}\necho; echo "KEY=$MILLRACE_API_KEY"`, folder.path);
    key = /^KEY=(.*)$/m.exec(shown)?.[1] ?? '';
    return shown;
  };
  const missing = async ({ commands, printed }: Step): Promise<string[]> => {
    const shown = new Set(steady(await run(commands)));
    return steady(printed).filter((line) => !shown.has(line));
  };
  /** Lines of the page that the block does not print. */
  const follow = async (step: Step): Promise<string[]> => {
    let left = await missing(step);
    for (let tries = 60; left.length > 0 && tries > 0 && looks.test(step.commands); tries -= 1) {
      await delay(500);
      left = await missing(step);
    }
    if (step.commands.includes(' configs enable ')) await untilTransformed(server);
    return left;
  };
  try {
    const [start, ...steps] = readSteps();
    // What made this checkout, and the service that runs already.
    expect(start?.commands).toBe('npm ci\nnpm start\n');
    expect(steps.length).toBeGreaterThan(8);
    // Every step is among them.
    const share = shareOf(import.meta.url);
    expect(share.take({ page: tour })).toEqual(readSteps().map(({ commands }) => commands));
    expect(share.left()).toEqual([]);
    for (const step of steps) expect([step.commands, await follow(step)]).toEqual([step.commands, []]);
  } finally {
    await server.terminate();
  }
}, 300_000);

/** A config that was enabled takes part a moment later. */
async function untilTransformed(server: Pick<TestServer, 'url'>): Promise<void> {
  const batch = [{ event: 'probe', distinct_id: 'probe', properties: { plan: 'team' } }];
  for (let tries = 60; tries > 0; tries -= 1) {
    await fetch(`${server.url}/batch/`, { method: 'POST', body: JSON.stringify({ api_key: projectKey, batch }) });
    await delay(500);
    const path = '/api/projects/@current/events/?distinct_id=probe';
    const { results } = await apiGet<{ results: { properties: { tier?: string } }[] }>(server, path);
    if (results.some(({ properties }) => properties.tier === 'paid')) return;
  }
  throw new Error('expected the transformation of the tour to take part, no event has been through it');
}
