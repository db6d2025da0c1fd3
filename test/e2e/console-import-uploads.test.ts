/** Uploads of the import wizard, and the formats that it detects in them, in a real browser. Skips without Chromium. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formats } from '../../src/imports/formats/registry.ts';
import { chromiumPath } from '../support/browser.ts';
import { lookFaults, startConsole, type ConsoleUnderTest } from '../support/console.ts';

/** A track call in the format of a customer data platform. */
function trackCall(index: number): string {
  const call = {
    type: 'track',
    event: 'Käufe "鞋"',
    userId: `9007199254740993${index}`,
    messageId: `m-${index}`,
    timestamp: new Date(Date.UTC(2020, 11, 29, 7, index)).toISOString(),
    properties: { id: index },
  };
  return `${JSON.stringify(call)}\n`;
}

/** Holds the responses to the next uploads of the page until `count` of them have arrived. */
async function finishUploadsTogether(page: ConsoleUnderTest['page'], count: number): Promise<void> {
  const held: (() => void)[] = [];
  await page.route(/\/import_files\//, async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    const response = await route.fetch();
    await new Promise<void>((resolve) => {
      held.push(resolve);
      if (held.length === count) for (const each of held) each();
    });
    return route.fulfill({ response });
  });
}

describe.skipIf(!chromiumPath)('uploads for an import', () => {
  let under: ConsoleUnderTest;
  const button = (name: string | RegExp) => under.page.getByRole('button', { name });
  beforeAll(async () => {
    under = await startConsole();
  });
  afterAll(() => under?.[Symbol.asyncDispose]());

  it('a format that the records do not show is selected by the user', async () => {
    const { page } = under;
    const records = formats.find(({ slug }) => slug === 'june')?.example.records ?? [];
    const buffer = Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    await under.open('imports/new');
    await button(/^Files/).click();
    await page
      .getByLabel('Files to upload')
      .setInputFiles({ name: 'pages.jsonl', mimeType: 'application/x-ndjson', buffer });
    await page.getByRole('checkbox', { name: /pages\.jsonl/ }).waitFor();
    await button('Continue to mapping').click();
    await page.getByText(/The first records fit .*june.* and .*statsig.* alike/i).waitFor();
    expect(await page.getByLabel('Format', { exact: true }).inputValue()).toBe('');
    expect(await button('Continue to review').isDisabled()).toBe(true);
    expect(await lookFaults(under, 'imports-format-unsure')).toEqual([]);
    await page.getByLabel('Format', { exact: true }).selectOption('june');
    await page.getByText(/0 rejected/).waitFor();
    expect(await button('Continue to review').isEnabled()).toBe(true);
  });

  it('uploads that finish at the same time are all imported', async () => {
    const { page } = under;
    const files = Array.from({ length: 12 }, (_, index) => ({
      name: `part-${String(index).padStart(2, '0')}.ndjson`,
      mimeType: 'application/x-ndjson',
      buffer: Buffer.from(trackCall(2 * index) + trackCall(2 * index + 1)),
    }));
    await under.open('imports/new?step=connect&source=files');
    await button('Choose files').waitFor();
    await finishUploadsTogether(page, files.length);
    await page.getByLabel('Files to upload').setInputFiles(files);
    await page.getByRole('checkbox', { name: /part-11/ }).waitFor();
    await button('Continue to mapping').waitFor();
    const paths = files.map(({ name }) => `upload:${name}`).join('\n');
    expect(await page.getByRole('textbox', { name: /^Paths/ }).inputValue()).toBe(paths);
    await button('Continue to mapping').click();
    await page.getByText(/events, 0 skipped, 0 rejected/).waitFor();
    await button('Continue to review').click();
    await button('Check all records').click();
    await page.getByText('Check passed.').waitFor();
    await button('Load 24 events').waitFor();
  });

  it('the bar of an upload moves while its first part is being sent', async () => {
    const { page } = under;
    await under.open('imports/new?step=connect&source=files');
    await button('Choose files').waitFor();
    const network = await page.context().newCDPSession(page);
    const slow = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 200_000 };
    await network.send('Network.emulateNetworkConditions', slow);
    const buffer = Buffer.from(trackCall(1).padEnd(3_000_000, '\n'));
    await page
      .getByLabel('Files to upload')
      .setInputFiles({ name: 'slow "é".ndjson', mimeType: 'application/x-ndjson', buffer });
    // The file is one part, whose response would be the only progress.
    const shown = (): Promise<number> =>
      page.evaluate<number>(`document.querySelector('progress[aria-label^="Upload of"]')?.value ?? 0`);
    await expect.poll(shown, { timeout: 60_000 }).toBeGreaterThan(0);
    expect(await page.getByRole('checkbox', { name: /slow/ }).count()).toBe(0);
    await network.send('Network.emulateNetworkConditions', { ...slow, uploadThroughput: -1 });
    // Under the name that the service gave it.
    const file = page.getByRole('checkbox', { name: /^slow-[0-9a-f]{8}\.ndjson/ });
    await file.waitFor();
    await expect.poll(() => file.isChecked()).toBe(true);
    await network.detach();
  });
});
