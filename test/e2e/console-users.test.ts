/** The users page in a real browser, and the console for a viewer. Skips without Chromium. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';
import { apiGet, personalKey, projectKey, type TestServer } from '../support/server.ts';
import { apiSend } from '../support/import-runs.ts';

describe.skipIf(!chromiumPath)('the users page', () => {
  let under: ConsoleUnderTest;
  beforeAll(async () => {
    under = await startConsole();
  });
  afterAll(() => under?.[Symbol.asyncDispose]());

  it('a user is invited by a link that is shown once, changes role, is deactivated and reactivated', async () => {
    const { page } = under;
    await under.open('users');
    await page.getByRole('button', { name: 'Invite user' }).click();
    const form = page.getByRole('dialog');
    await form.getByRole('textbox', { name: 'E-mail address' }).fill('ann@example.com');
    await form.getByRole('textbox', { name: 'Name' }).fill('Ann <i>A</i>');
    expect(await lookFaults(under, 'users-invite')).toEqual([]);
    await form.getByRole('button', { name: 'Invite', exact: true }).click();
    await page.getByText('Copy the link now').waitFor();
    const link = (await page.getByRole('dialog').locator('code').first().innerText()).trim();
    expect(link).toMatch(/^http/);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('Ann <i>A</i>').waitFor();
    expect(await page.content()).not.toContain(link);
    const choose = async (entry: string, confirm: string): Promise<void> => {
      await page.getByRole('button', { name: 'Actions for Ann' }).click();
      await page.getByRole('menuitem', { name: entry }).click();
      await page.getByRole('dialog').getByRole('button', { name: confirm, exact: true }).click();
    };
    await page.getByRole('button', { name: 'Actions for Ann' }).click();
    await page.getByRole('menuitem', { name: 'Change role' }).click();
    await page.getByRole('radio', { name: 'editor' }).check();
    await page.getByRole('dialog').getByRole('button', { name: 'Change role' }).click();
    await page.getByRole('cell', { name: 'editor' }).waitFor();
    await choose('Deactivate', 'Deactivate');
    await page.getByText('deactivated', { exact: true }).waitFor();
    await choose('Reactivate', 'Reactivate');
    await page.getByText('deactivated', { exact: true }).waitFor({ state: 'detached' });
    expect(await lookFaults(under, 'users')).toEqual([]);
  });

  it('the activity log shows who changed what, with filters in the URL and the item at that time', async () => {
    const { page } = under;
    await under.open('activity?scope=User&activity=restored');
    await page.getByText('No matching changes').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('combobox', { name: 'Any type' }).selectOption('Users');
    await page.waitForURL(/scope=User/);
    await page.getByRole('link', { name: 'created' }).first().waitFor();
    expect(page.url()).toContain('scope=User');
    expect(await lookFaults(under, 'activity')).toEqual([]);
    await page.getByRole('link', { name: 'created' }).first().click();
    await page.getByRole('heading', { name: 'Item at that time' }).waitFor();
    expect(await page.getByRole('region', { name: 'Difference' }).innerText()).toContain('ann@example.com');
    expect(await lookFaults(under, 'activity-entry')).toEqual([]);
  });

  it('a viewer has no control that changes anything, and the API refuses changes', async () => {
    const { server } = under;
    await somethingToChange(server);
    await using viewer = await startConsole({ server, signedOut: true });
    const { page } = viewer;
    await page.goto(await invited(server, 'viewer'));
    await page.getByRole('button').click();
    await page.getByRole('heading', { level: 1 }).waitFor();
    const changes: string[] = [];
    page.on('request', (request) => {
      if (!['GET', 'HEAD'].includes(request.method()) && request.url().includes('/api/')) {
        changes.push(`${request.method()} ${request.url()}`);
      }
    });
    for (const path of ['transformations', 'imports', 'dead-letters', 'agreements', 'settings', 'users']) {
      await viewer.open(path);
      await page.waitForLoadState('networkidle');
      const offered = await page.locator('#main').getByRole('button', { name: changing }).allInnerTexts();
      expect([path, offered]).toEqual([path, []]);
      expect(await page.locator('#main').getByRole('switch', { disabled: false }).count()).toBe(0);
    }
    const refused = await page.evaluate<number[]>(
      `Promise.all([
        ['PATCH', '/api/projects/1'], ['POST', '/api/users'], ['POST', '/api/projects/1/historical_migrations'],
        ['POST', '/api/projects/1/pipeline_transformation_configs'], ['POST', '/api/projects/1/dead_letters/replay'],
      ].map(([method, path]) => fetch(path, { method, body: '{}', headers: { 'content-type': 'application/json' } })
        .then((answer) => answer.status)))`,
    );
    expect(refused).toEqual([403, 403, 403, 403, 403]);
    expect(changes).toHaveLength(refused.length);
  });
});

/** First words of buttons that change something. Users may end their own sessions. */
const changing =
  /^(add|new|create|invite|save|delete|remove|revoke|approve|reject|request|replay|discard|start|switch|actions for|reset|restore|undo)\b/i;

/** Creates an enabled transformation, an event that cannot be stored and a pending agreement. */
async function somethingToChange(server: TestServer): Promise<void> {
  const plugins = await apiGet<{ results: { id: number; name: string }[] }>(
    server,
    '/api/projects/1/plugins/?limit=100',
  );
  const plugin = plugins.results.find(({ name }) => name === 'Bot filter')?.id;
  await apiSend(server, 'POST', '/api/projects/1/pipeline_transformation_configs/', { plugin, enabled: true });
  const agreement = { source: 'Old tool', method: 'script', total_events: 1000, events_per_second: 10 };
  await apiSend(server, 'POST', '/api/projects/1/historical_migrations/', agreement);
  const batch = [
    { event: 'good', distinct_id: 'ada' },
    { event: 'bad', distinct_id: '' },
  ];
  const headers = { 'content-type': 'application/json' };
  await fetch(`${server.url}/batch/`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ api_key: projectKey, batch }),
  });
}

async function invited(server: { readonly url: string }, role: string): Promise<string> {
  const answer = await fetch(`${server.url}/api/users/`, {
    method: 'POST',
    headers: { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ email: `${role}@example.com`, role }),
  });
  const { sign_in_url: link } = (await answer.json()) as { readonly sign_in_url: string };
  return link;
}
