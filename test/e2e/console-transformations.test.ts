/** The transformation pages in a real browser. Skips without Chromium. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';
import { apiGet, personalKey, projectKey } from '../support/server.ts';

interface Config {
  readonly name: string;
  readonly enabled: boolean;
  readonly config: string;
}
interface Stored {
  readonly results: readonly { readonly event: string; readonly properties: Readonly<Record<string, unknown>> }[];
}

describe.skipIf(!chromiumPath)('the transformation pages', () => {
  let under: ConsoleUnderTest;
  beforeAll(async () => {
    under = await startConsole();
  });
  afterAll(() => under?.[Symbol.asyncDispose]());

  const send = (event: string): Promise<Response> =>
    fetch(`${under.server.url}/batch/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        api_key: projectKey,
        batch: [{ event, distinct_id: 'ada', properties: { plan: 'pro', nothing: null } }],
      }),
    });
  const storedNamed = async (event: string) =>
    (await apiGet<Stored>(under.server, `/api/projects/1/events/?event=${event}`)).results;
  const chain = async () =>
    (await apiGet<{ results: readonly Config[] }>(under.server, '/api/projects/1/pipeline_transformation_configs/'))
      .results;
  const names = async (): Promise<string[]> => (await chain()).map(({ name }) => name);

  it('explain transformations while there are no configs', async () => {
    await under.open('transformations');
    await under.page.getByText('Events are stored as sent.').waitFor();
    expect(await lookFaults(under, 'transformations-empty')).toEqual([]);
  });

  it('a transformation is added, tested on a real event with its changes, moved by keyboard, enabled, and runs on events', async () => {
    const { page } = under;
    await send('visit');
    await expect.poll(() => storedNamed('visit')).toHaveLength(1);
    await page.getByRole('button', { name: 'Add transformation' }).last().click();
    await page.getByRole('searchbox', { name: 'Search' }).fill('null');
    expect(await lookFaults(under, 'transformations-add')).toEqual([]);
    await page.getByRole('button', { name: 'Add Remove nulls' }).click();
    await page.getByRole('heading', { level: 1, name: 'Remove nulls' }).waitFor();
    await under.open('transformations');
    await page.getByRole('button', { name: 'Add transformation' }).click();
    await page.getByRole('tab', { name: 'Your code' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Greeter <b>');
    await page.getByRole('button', { name: 'Create and add' }).click();
    await page.getByRole('heading', { level: 1, name: 'Greeter' }).waitFor();

    await page.getByRole('textbox', { name: 'Greeting' }).fill('bonjour');
    await page.getByText('Unsaved changes.').waitFor();
    await page.getByRole('tab', { name: 'Test' }).click();
    await page.getByRole('button', { name: 'Latest stored event' }).click();
    await page.getByText('"visit"').waitFor();
    await page.getByRole('combobox', { name: 'Run', exact: true }).selectOption('chain');
    await page.getByRole('button', { name: 'Run test' }).click();
    const changes = page.getByRole('region', { name: 'Changes' });
    await changes.getByText('"bonjour"').first().waitFor();
    expect(await lookFaults(under, 'transformation-test')).toEqual([]);
    await page.getByRole('tab', { name: 'Configuration' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('The changes apply to new events.').waitFor();
    expect(await lookFaults(under, 'transformation')).toEqual([]);

    await under.open('transformations');
    expect(await names()).toEqual(['Remove nulls', 'Greeter <b>']);
    await page.getByRole('button', { name: 'Move Greeter' }).focus();
    await page.keyboard.press('Space');
    await page.getByText('is over step 2 of 2').waitFor({ state: 'attached' });
    await page.keyboard.press('ArrowUp');
    await page.getByText('is over step 1 of 2').waitFor({ state: 'attached' });
    await page.keyboard.press('Space');
    await expect.poll(names).toEqual(['Greeter <b>', 'Remove nulls']);
    await page.getByRole('switch', { name: 'Enable Greeter <b>' }).focus();
    await page.keyboard.press('Space');
    await expect.poll(async () => (await chain())[0]?.enabled).toBe(true);
    expect(await lookFaults(under, 'transformations')).toEqual([]);
    await expect
      .poll(
        async () => {
          await send('greeted');
          return (await storedNamed('greeted')).some(({ properties }) => properties['greeting'] === 'bonjour');
        },
        { timeout: 30_000, interval: 500 },
      )
      .toBe(true);
  });

  it('a filter restricts a step to some events, and the list shows it', async () => {
    const { page } = under;
    await under.open('transformations');
    await page.getByRole('link', { name: 'Greeter' }).click();
    await page.getByRole('textbox', { name: 'Event names' }).fill('greet*');
    await page.getByRole('button', { name: 'Add condition' }).click();
    const condition = page.getByRole('group', { name: 'Condition 1' });
    await condition.getByRole('combobox', { name: 'Operator' }).selectOption('is_not_set');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('"property" is missing').waitFor();
    under.problems();
    await condition.getByRole('textbox', { name: 'Property' }).fill('quiet');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('The changes apply to new events.').waitFor();
    expect(await lookFaults(under, 'transformation-filter')).toEqual([]);
    await under.open('transformations');
    await page.getByText('Only greet* · quiet is not set').waitFor();
    const greeted = async (event: string): Promise<readonly unknown[]> =>
      (await storedNamed(event)).map(({ properties }) => properties['greeting']);
    await expect
      .poll(
        async () => {
          await send('filtered-out');
          await send('greet-again');
          return [await greeted('greet-again'), await greeted('filtered-out')].map((found) => found.at(0));
        },
        { timeout: 30_000, interval: 500 },
      )
      .toEqual(['bonjour', undefined]);
  });

  it('a refused change is rolled back on the page', async () => {
    const { page } = under;
    await under.open('transformations');
    const path = '**/pipeline_transformation_configs/*';
    await page.route(path, (route) => (route.request().method() === 'PATCH' ? route.abort() : route.fallback()));
    const nulls = page.getByRole('switch', { name: 'Enable Remove nulls' });
    await nulls.click();
    await page.getByText('The service is not responding.').first().waitFor();
    await expect.poll(() => nulls.isChecked()).toBe(false);
    await page.unroute(path);
    under.problems();
  });

  it('an earlier state of a config is shown and restored', async () => {
    const { page } = under;
    await under.open('transformations');
    await page.getByRole('link', { name: 'Greeter' }).click();
    await page.getByRole('textbox', { name: 'Greeting' }).fill('hola');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('The changes apply to new events.').waitFor();
    await page.getByRole('tab', { name: 'History' }).click();
    const entry = page.getByRole('listitem').filter({ hasText: '"bonjour"' });
    await entry.last().getByRole('button', { name: 'Show state' }).click();
    const past = page.getByRole('dialog', { name: 'State at that time' });
    await past.getByText('"bonjour"').waitFor();
    await past.getByText('"hola"').waitFor();
    expect(await lookFaults(under, 'transformation-past')).toEqual([]);
    await past.getByRole('button', { name: 'Restore' }).click();
    await page.getByRole('dialog', { name: 'Restore this state?' }).getByRole('button', { name: 'Restore' }).click();
    await page.getByText('Restored.').waitFor();
    expect((await chain()).find(({ name }) => name.startsWith('Greeter'))?.config).toContain('bonjour');
    for (const tab of ['Metrics', 'Logs', 'Errors', 'History']) {
      await page.getByRole('tab', { name: tab }).click();
      expect(await lookFaults(under, `transformation-${tab.toLowerCase()}`)).toEqual([]);
    }
  });

  it('the code is edited, compared, tested before it is saved, and every version can be run again', async () => {
    const { page } = under;
    await under.open('transformations');
    await page.getByRole('link', { name: 'Greeter' }).click();
    await page.getByRole('tab', { name: 'Code' }).click();
    await page.getByRole('textbox', { name: 'index.ts' }).click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(
      'export function processEvent(event) {\n  event.properties.loud = true;\n  return event;\n}\n',
    );
    await page.getByRole('button', { name: 'Show changes' }).click();
    await page.getByText('config.greeting').first().waitFor();
    expect(await lookFaults(under, 'transformation-code')).toEqual([]);
    await page.getByRole('tab', { name: 'Test' }).click();
    await page.getByText('The test uses your unsaved changes.').waitFor();
    await page.getByRole('button', { name: 'Run test' }).click();
    await page.getByRole('region', { name: 'Changes' }).getByText('"loud"').waitFor();
    await page.getByRole('tab', { name: 'Code' }).click();
    await page.getByRole('button', { name: 'Save as new version' }).click();
    await page.getByText('This step now runs version 2.').waitFor();
    await page.getByRole('switch', { name: 'Enabled' }).click();
    await expect
      .poll(
        async () => {
          await send('loud');
          return (await storedNamed('loud')).some(({ properties }) => properties['loud'] === true);
        },
        { timeout: 30_000, interval: 500 },
      )
      .toBe(true);
    await page.getByRole('button', { name: 'Run version 1' }).click();
    await page.getByText('This step now runs version 1.').waitFor();
    await page.getByText('config.greeting').first().waitFor();
  });

  it('stored events are replayed through a plugin, with progress and the events that it rejected', async () => {
    const { page } = under;
    const authorization = `Bearer ${personalKey}`;
    const post = async (path: string, body: object): Promise<{ readonly id: number }> => {
      const response = await fetch(`${under.server.url}/api/projects/1/${path}/`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect(response.status).toBe(201);
      return (await response.json()) as { readonly id: number };
    };
    const code = 'export function onEvent(event) { if (event.event === "again_loud") throw new Error("too loud"); }';
    const files = { 'plugin.json': '{"name":"Exporter"}', 'index.ts': code };
    const plugin = await post('plugins', { files });
    const { id } = await post('pipeline_transformation_configs', { plugin: plugin.id, enabled: true });
    for (const event of ['again', 'again', 'again', 'again_loud']) await send(event);
    await expect.poll(() => storedNamed('again')).toHaveLength(3);
    await expect.poll(() => storedNamed('again_loud')).toHaveLength(1);
    await under.open(`transformations/${id}?tab=replay`);
    await page.getByRole('textbox', { name: 'Event names' }).fill('again*');
    await page.getByRole('button', { name: 'Start replay' }).click();
    const replays = page.getByRole('region', { name: 'Replays', exact: true });
    await replays.getByText('Done').waitFor({ timeout: 60_000 });
    await replays.getByText('3 of 4').waitFor();
    expect(await lookFaults(under, 'transformation-replay')).toEqual([]);
    const jobs = await apiGet<{ count: number }>(
      under.server,
      `/api/projects/1/jobs/?plugin_config=${id}&state=failed`,
    );
    expect(jobs.count).toBeGreaterThan(0);
    await fetch(`${under.server.url}/api/projects/1/pipeline_transformation_configs/${id}/`, {
      method: 'DELETE',
      headers: { authorization },
    });
  });

  it('a transformation is moved to the bin and restored without loss', async () => {
    const { page } = under;
    await under.open('transformations');
    await page.getByRole('button', { name: 'Actions for Remove nulls' }).click();
    await page.getByRole('menuitem', { name: 'Move to bin' }).click();
    await expect.poll(names).toEqual(['Greeter <b>']);
    await page.getByRole('button', { name: 'Bin' }).click();
    await page.getByRole('button', { name: 'Restore Remove nulls' }).click();
    await page.getByText('The bin is empty').waitFor();
    expect(await lookFaults(under, 'transformations-bin')).toEqual([]);
    expect(await names()).toContain('Remove nulls');
  });

  it('a long chain renders only the steps in view; the last is reachable, and one is moved by keyboard over many', async () => {
    const { page, server } = under;
    const headers = { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' };
    const plugins = '/api/projects/1/plugins/?search=remove-nulls';
    const [plugin] = (await apiGet<{ results: readonly { id: number }[] }>(server, plugins)).results;
    for (let step = 1; step <= 60; step += 1) {
      const body = JSON.stringify({ plugin: plugin?.id, name: `Step ${step}` });
      const path = `${server.url}/api/projects/1/pipeline_transformation_configs/`;
      expect((await fetch(path, { method: 'POST', headers, body })).status).toBe(201);
    }
    await under.open('transformations');
    const list = page.getByRole('list', { name: 'Transformations in order' });
    const steps = list.getByRole('listitem');
    await page.getByRole('link', { name: 'Step 1', exact: true }).waitFor();
    expect(await steps.first().getAttribute('aria-setsize')).toBe('62');
    expect(await steps.count()).toBeLessThan(40);
    await page.getByRole('button', { name: 'Move Step 1', exact: true }).focus();
    await page.keyboard.press('Space');
    await page.getByText('Step 1 is over step 3 of 62.').waitFor({ state: 'attached' });
    for (let place = 4; place <= 33; place += 1) {
      await page.keyboard.press('ArrowDown');
      await page.getByText(`Step 1 is over step ${place} of 62.`).waitFor({ state: 'attached' });
    }
    await page.keyboard.press('Space');
    await expect.poll(async () => (await names())[32]).toBe('Step 1');
    await page.evaluate(`document.getElementById('main').scrollTo(0, 1e6)`);
    await page.getByRole('link', { name: 'Step 60', exact: true }).waitFor();
    expect(await steps.count()).toBeLessThan(40);
    expect(await lookFaults(under, 'transformations-long')).toEqual([]);
  });
});
