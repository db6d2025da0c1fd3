/**
 * The real libraries of Segment, RudderStack and Jitsu against the real program, through a proxy that records what they send. The
 * oracle for events and persons is the import of the same messages in the form in which Segment and RudderStack archive them.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jitsuAnalytics } from '@jitsu/js';
import RudderAnalytics from '@rudderstack/rudder-sdk-node';
import { Analytics } from '@segment/analytics-node';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, launchBrowser } from '../support/browser.ts';
import { createFilesConfig, expectExactRun, startImport, writeRecords } from '../support/import-runs.ts';
import { startRecordingProxy, type RecordedRequest, type RecordingProxy } from '../support/recording-proxy.ts';
import { readAllEvents } from '../support/ledger.ts';
import { apiGet, projectKey, startServer, tempDataDir, untilSettled, type TestServer } from '../support/server.ts';

let server: TestServer;
let proxy: RecordingProxy;
let shop: Server;
let dataDir: Awaited<ReturnType<typeof tempDataDir>>;

beforeAll(async () => {
  dataDir = await tempDataDir();
  server = await startServer(dataDir.path);
  proxy = await startRecordingProxy(server.url);
  const library = await browserLibrary();
  shop = createServer((incoming, answer) => {
    const isScript = incoming.url === '/analytics.js';
    answer.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' });
    answer.end(isScript ? library : '<!doctype html><link rel="icon" href="data:," /><title>Shop</title>');
  });
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  shop.close();
  await proxy[Symbol.asyncDispose]();
  await server.terminate();
  await dataDir[Symbol.asyncDispose]();
});

async function browserLibrary(): Promise<string> {
  const contents = `import { AnalyticsBrowser } from '@segment/analytics-next'; window.AnalyticsBrowser = AnalyticsBrowser;`;
  const stdin = { contents, resolveDir: import.meta.dirname };
  const { outputFiles } = await build({ stdin, bundle: true, write: false, platform: 'browser', minify: true });
  return outputFiles[0]?.text ?? '';
}

type Json = Readonly<Record<string, unknown>>;

/** Messages that the service has accepted so far. */
function accepted(): readonly Json[] {
  return proxy.requests.flatMap(({ body }) => (body['batch'] as Json[] | undefined) ?? [body]);
}

async function untilAllStored(): Promise<void> {
  await untilSettled(server, { standard: accepted().length });
}

describe('libraries, with only their address and key changed', () => {
  it('@segment/analytics-node: every call is stored', async () => {
    const analytics = new Analytics({ writeKey: projectKey, host: proxy.url });
    const failed: unknown[] = [];
    analytics.on('error', (error) => failed.push(error));
    analytics.track({ anonymousId: 'seg-anon', event: 'Product Viewed', properties: { sku: 'lamp' } });
    analytics.identify({ userId: 'seg-ada', anonymousId: 'seg-anon', traits: { plan: 'pro', seats: 3 } });
    const timestamp = new Date('2024-01-02T03:04:05.678Z');
    analytics.track({ userId: 'seg-ada', event: 'Order Completed', properties: { total: 9.5 }, timestamp });
    analytics.page({ userId: 'seg-ada', name: 'Home', properties: { path: '/' } });
    analytics.screen({ userId: 'seg-ada', name: 'Start' });
    analytics.group({ userId: 'seg-ada', groupId: 'acme', traits: { industry: 'tools' } });
    analytics.alias({ userId: 'seg-ada', previousId: 'seg-old' });
    await analytics.closeAndFlush();
    expect(failed).toEqual([]);
    expect(accepted()).toHaveLength(7);
    await untilAllStored();
    const order = (await readAllEvents(server)).find(({ event }) => event === 'Order Completed');
    // The time that a caller sets is corrected by the time of transmission, as by Segment.
    expect(Math.abs(Date.parse(order?.timestamp ?? '') - timestamp.getTime())).toBeLessThan(60_000);
  });

  it('@rudderstack/rudder-sdk-node: every call is stored', async () => {
    const analytics = new RudderAnalytics(projectKey, { dataPlaneUrl: proxy.url, flushInterval: 100 });
    const before = accepted().length;
    analytics.identify({ userId: 'rudder-bob', traits: { email: 'bob@example.com' } });
    const timestamp = new Date('2024-02-03T04:05:06.789Z');
    analytics.track({ userId: 'rudder-bob', event: 'Trial Started', properties: { days: 14 }, timestamp });
    analytics.group({ userId: 'rudder-bob', groupId: 'globex', traits: { industry: 'energy' } });
    await expect.poll(() => accepted().length - before).toBe(3);
    await untilAllStored();
    const trial = (await readAllEvents(server)).find(({ event }) => event === 'Trial Started');
    expect(Math.abs(Date.parse(trial?.timestamp ?? '') - timestamp.getTime())).toBeLessThan(60_000);
  });

  it('@jitsu/js: every call is stored', async () => {
    const analytics = jitsuAnalytics({ host: proxy.url, writeKey: `${projectKey}:secret`, fetch });
    const before = accepted().length;
    await analytics.identify('jitsu-cy', { plan: 'free' });
    await analytics.track('Report Opened', { pages: 2 });
    await analytics.page({ name: 'Reports' });
    await expect.poll(() => accepted().length - before).toBe(3);
    await untilAllStored();
  });

  it.skipIf(!chromiumPath)(
    'analytics.js in Chromium: loads its settings and sends, the console stays empty',
    async () => {
      const before = accepted().length;
      await using browser = await launchBrowser();
      const tab = await browser.newPage();
      const said: string[] = [];
      tab.on('console', (message) => void said.push(message.text()));
      tab.on('pageerror', (error) => void said.push(error.message));
      await tab.goto(`http://127.0.0.1:${(shop.address() as AddressInfo).port}/?utm_source=mail`);
      await tab.addScriptTag({ url: '/analytics.js' });
      await tab.evaluate(`(async () => {
      const settings = { writeKey: ${JSON.stringify(projectKey)}, cdnURL: ${JSON.stringify(proxy.url)} };
      const [analytics] = await AnalyticsBrowser.load(settings);
      await analytics.page('Shop');
      await analytics.identify('browser-dee', { plan: 'team' });
      await analytics.track('Lamp Bought', { total: 30 });
    })()`);
      await expect.poll(() => accepted().length - before).toBe(3);
      await untilAllStored();
      const events = await readAllEvents(server);
      expect(events.find(({ event }) => event === 'Lamp Bought')?.properties).toMatchObject({
        $ip: '127.0.0.1',
        utm_source: 'mail',
        total: 30,
      });
      expect(said).toEqual([]);
    },
  );
});

/** The messages of a request in the form in which Segment and RudderStack archive them. */
function archived({ body, at }: RecordedRequest): Json[] {
  const batch = (body['batch'] as Json[] | undefined) ?? [body];
  return batch.map((message) => archivedMessage(message, String(body['sentAt'] ?? new Date(at).toISOString()), at));
}

function archivedMessage(message: Json, batchSentAt: string, at: number): Json {
  const { timestamp, originalTimestamp, writeKey: _, ...rest } = message;
  const sentAt = String(rest['sentAt'] ?? batchSentAt);
  const original = String(originalTimestamp ?? timestamp);
  const corrected = new Date(at - (Date.parse(sentAt) - Date.parse(original))).toISOString();
  const context = rest['context'] as Json;
  return {
    ...rest,
    originalTimestamp: original,
    timestamp: originalTimestamp === undefined || timestamp === undefined ? corrected : timestamp,
    receivedAt: new Date(at).toISOString(),
    sentAt,
    context: context['userAgent'] === undefined ? context : { ...context, ip: '127.0.0.1' },
  };
}

/** Ids that belong to other persons and messages. `copy-` is removed before both are compared. */
function copyOf(message: Json): Json {
  const ids = ['userId', 'anonymousId', 'previousId', 'messageId'].flatMap((name) =>
    typeof message[name] === 'string' ? [[name, `copy-${message[name]}`]] : [],
  );
  return { ...message, ...(Object.fromEntries(ids) as Json) };
}

describe('the same messages live and by their archive', () => {
  it('make the same events, persons and properties', async () => {
    const live = await readAllEvents(server);
    expect(live).toHaveLength(accepted().length);
    const paths = await writeRecords(dataDir.path, 'archive.ndjson.gz', proxy.requests.flatMap(archived).map(copyOf));
    const config = await createFilesConfig(server, { paths, format: 'segment' });
    await expectExactRun(server, await startImport(server, config));
    const all = await readAllEvents(server);
    const ofLive = new Set(live.map(({ id }) => id));
    const imported = all.filter(({ id }) => !ofLive.has(id));
    expect(described(imported).map(({ text }) => text)).toEqual(described(live).map(({ text }) => text));
    const times = described(imported).map(({ ms }, at) => Math.abs(ms - (described(live)[at]?.ms ?? Number.NaN)));
    // The proxy and the service receive a message at different moments.
    expect(Math.max(...times)).toBeLessThan(60_000);
    const persons = await personsOf();
    const isCopy = (person: string): boolean => person.includes('copy-');
    expect(
      persons
        .filter(isCopy)
        .map((person) => person.replaceAll('copy-', ''))
        .toSorted(),
    ).toEqual(persons.filter((person) => !isCopy(person)).toSorted());
    expect(persons.filter(isCopy).length).toBeGreaterThan(2);
  });
});

describe('an archive of messages that were also received live', () => {
  it('stores none of them twice', async () => {
    const before = await readAllEvents(server);
    // Events far from midnight: the time of transmission cannot change their day.
    const own = proxy.requests

      .flatMap(archived)
      .filter(({ event }) => event === 'Order Completed' || event === 'Trial Started');
    expect(own).toHaveLength(2);
    const paths = await writeRecords(dataDir.path, 'overlap.ndjson.gz', own);
    const config = await createFilesConfig(server, { paths, format: 'segment' });
    const { verify } = await expectExactRun(server, await startImport(server, config));
    expect(verify.stored_by_others).toBe(2);
    expect(await readAllEvents(server)).toHaveLength(before.length);
  });
});

/** Events without what differs by intention, in a fixed order. */
function described(
  events: Awaited<ReturnType<typeof readAllEvents>>,
): readonly { readonly text: string; readonly ms: number }[] {
  return events
    .map(({ event, distinct_id: id, timestamp, properties }) => {
      // An import does not look up the place of an address, as history has none.
      const { $import_run_id: _, $geoip_disable: _none, ...own } = properties;
      const text = JSON.stringify([event, id, Object.entries(own).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
      return { text: text.replaceAll('copy-', ''), ms: Date.parse(timestamp) };
    })
    .toSorted((one, other) => (one.text < other.text ? -1 : 1));
}

interface Person {
  readonly distinct_ids: readonly string[];
  readonly properties: Json;
}

async function personsOf(): Promise<string[]> {
  const { results } = await apiGet<{ results: Person[] }>(server, '/api/projects/@current/persons/?limit=100');
  return results.map(({ distinct_ids: ids, properties }) =>
    JSON.stringify([ids.toSorted(), Object.entries(properties).toSorted(([a], [b]) => (a < b ? -1 : 1))]),
  );
}
