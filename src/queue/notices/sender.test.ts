import { createHmac } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { tempMetadata, type TempMetadata } from '../../../test/support/metadata.ts';
import { now } from '../../../test/support/metadata-rows.ts';
import { addDestination, addNoticeProject, failedRun, makeDue } from '../../../test/support/notices.ts';
import { testServer } from '../../../test/support/outbound-server.ts';
import { smtpServer } from '../../../test/support/smtp-server.ts';
import { createDatabaseClock } from '../../stores/metadata/database-clock.ts';
import { openSqlite } from '../../stores/metadata/sqlite.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { parseAllowList } from '../../plugins/outbound/allow-list.ts';
import { createOutboundFetch } from '../../plugins/outbound/safe-fetch.ts';
import { createLog } from '../../server/telemetry/log.ts';
import type { Destination } from './destinations.ts';
import { claimDelivery, listDeliveries, enqueueNotice, enqueueTestNotice } from './outbox.ts';
import { createEmail, type EmailSettings } from './send/email.ts';
import { createSlack } from './send/slack.ts';
import { createWebhook } from './send/webhook.ts';
import { sendNotices } from './sender.ts';

interface SenderOptions {
  readonly smtp?: EmailSettings;
  /** Default: loopback. */
  readonly allow?: string;
  readonly leaseMs?: number;
}

/** Starts a sender like that of the service; stopped at the end of the test. */
function startSender(db: Metadata, { smtp, allow = '127.0.0.1', leaseMs }: SenderOptions = {}) {
  const stop = new AbortController();
  const lines: string[] = [];
  const fetch = createOutboundFetch({ allow: parseAllowList(allow), timeoutMs: 5000, bytesMax: 65_536 });
  const done = sendNotices({
    db,
    clock: createDatabaseClock(db),
    log: createLog('warn', { write: (line: string) => void lines.push(line) }),
    carriers: {
      webhook: createWebhook(fetch, () => now),
      slack: createSlack(fetch),
      email: createEmail(smtp ?? { smtpUrl: '', smtpFrom: '' }),
    },
    siteUrl: 'https://millrace.example.com',
    signal: stop.signal,
    pollMs: 10,
    retryMs: 1,
    ...(leaseMs !== undefined && { leaseMs }),
  });
  return {
    lines,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await done;
      await fetch.close();
    },
  };
}

interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Starts a receiver. `status` lists the status of each answer in turn; the last one repeats. */
async function receiver(...status: readonly number[]) {
  const received: Received[] = [];
  const server = await testServer((request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      const code = status[Math.min(received.length, status.length) - 1] ?? 200;
      response.writeHead(code, { location: '/elsewhere' }).end('thanks');
    });
  });
  const url = `http://127.0.0.1:${server.port}/hook?token=s3cret`;
  return { received, url, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

async function until(is: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 1500; tries += 1) {
    if (await is()) return;
    await delay(10);
  }
  throw new Error('expected it to become true within 15 s');
}

async function stateOf(db: Metadata, { id }: Destination) {
  const { deliveries } = await listDeliveries(db, id, { limit: 10, offset: 0 });
  return deliveries[0];
}

const ended = async (db: Metadata, destination: Destination): Promise<boolean> =>
  ['sent', 'failed'].includes((await stateOf(db, destination))?.state ?? '');

const secret = 'the key that both sides know';

async function toldTo(store: TempMetadata, address: Destination['address'], more: Partial<Destination> = {}) {
  const owner = await addNoticeProject(store.db);
  const destination = await addDestination(store.db, owner, { address, ...more });
  await enqueueNotice(store.db, failedRun(owner.projectId), now);
  return destination;
}

describe('a webhook', () => {
  it('receives the notification once, with a signature that a holder of the key can verify', async () => {
    await using store = await tempMetadata();
    await using hook = await receiver(200);
    const destination = await toldTo(store, { url: hook.url, secret });
    await using _sender = startSender(store.db);
    await until(() => ended(store.db, destination));
    const [only, ...others] = hook.received;
    expect(others).toEqual([]);
    const { id, state } = (await stateOf(store.db, destination)) ?? {};
    expect(state).toBe('sent');
    expect(JSON.parse(only?.body ?? '')).toMatchObject({
      id,
      event: 'run_failed',
      state: 'happened',
      summary: 'Import from files failed: no such file',
      project: { name: 'Shop' },
      url: expect.stringMatching(/^https:\/\/millrace\.example\.com\/console\/projects\/\d+\/imports\/3\/runs\/r1$/),
      details: { run: 'r1', config: 3 },
    });
    const timestamp = String(only?.headers['millrace-timestamp']);
    expect(Number(timestamp)).toBe(now / 1000);
    // As the guide describes.
    const expected = createHmac('sha256', secret).update(`${timestamp}.${only?.body}`).digest('hex');
    expect(only?.headers['millrace-signature']).toBe(`v1=${expected}`);
    expect(only?.headers['millrace-notice-id']).toBe(id);
  });

  it('that is down for a while receives it on return, with the same id', async () => {
    await using store = await tempMetadata();
    await using hook = await receiver(503, 404, 429, 200);
    const destination = await toldTo(store, { url: hook.url, secret });
    await using _sender = startSender(store.db);
    await until(() => ended(store.db, destination));
    expect(await stateOf(store.db, destination)).toMatchObject({ state: 'sent', attempts: 4, error: '' });
    expect(new Set(hook.received.map(({ headers }) => headers['millrace-notice-id'])).size).toBe(1);
  });

  it('that stays down fails, and the reason names neither path nor token of the address', async () => {
    await using store = await tempMetadata();
    await using hook = await receiver(500);
    const destination = await toldTo(store, { url: hook.url, secret });
    await using sender = startSender(store.db);
    await until(async () => {
      await makeDue(store.db);
      return ended(store.db, destination);
    });
    const { state, error = '', attempts } = (await stateOf(store.db, destination)) ?? {};
    expect([state, attempts]).toEqual(['failed', 14]);
    expect(error).toMatch(/^expected a 2xx response from http:\/\/127\.0\.0\.1:\d+, got 500$/);
    expect(sender.lines.join('')).toContain('notification not sent');
    expect(sender.lines.join('')).not.toMatch(/s3cret|the key that/);
  });

  it.each([302, 303, 307])('a redirect (%i) does not count as accepted', async (status) => {
    await using store = await tempMetadata();
    await using hook = await receiver(status, 200);
    const destination = await toldTo(store, { url: hook.url, secret });
    await using _sender = startSender(store.db);
    await until(() => ended(store.db, destination));
    expect(await stateOf(store.db, destination)).toMatchObject({
      state: 'failed',
      attempts: 1,
      error: expect.stringContaining('got a redirect'),
    });
  });

  it('at a private address is refused, unless the operator allows it', async () => {
    await using store = await tempMetadata();
    await using hook = await receiver(200);
    const destination = await toldTo(store, { url: hook.url, secret });
    await using _sender = startSender(store.db, { allow: '' });
    await until(() => ended(store.db, destination));
    expect(hook.received).toEqual([]);
    expect(await stateOf(store.db, destination)).toMatchObject({ state: 'failed', attempts: 1 });
  });

  it('a notification whose sender died midway is sent by the next process', async () => {
    await using store = await tempMetadata();
    await using hook = await receiver(200);
    const destination = await toldTo(store, { url: hook.url, secret });
    // Claimed but never settled, as after kill -9.
    expect(await claimDelivery(store.db, Date.now(), 200)).toBeDefined();
    const next = openSqlite(store.file);
    try {
      await using _sender = startSender(next);
      await until(() => ended(store.db, destination));
      expect(hook.received).toHaveLength(1);
      expect(await stateOf(store.db, destination)).toMatchObject({ state: 'sent', attempts: 2 });
    } finally {
      await next.destroy();
    }
  });

  it('several processes send each notification once', async () => {
    await using store = await tempMetadata();
    await using hook = await receiver(200);
    const owner = await addNoticeProject(store.db);
    await addDestination(store.db, owner, { address: { url: hook.url, secret } });
    for (let at = 0; at < 20; at += 1) await enqueueNotice(store.db, failedRun(owner.projectId), now);
    const others = [openSqlite(store.file), openSqlite(store.file)];
    try {
      await using _first = startSender(store.db);
      await using _second = startSender(others[0] as Metadata);
      await using _third = startSender(others[1] as Metadata);
      await until(() => hook.received.length >= 20);
      await delay(100);
      const ids = hook.received.map(({ headers }) => headers['millrace-notice-id']);
      expect(ids).toHaveLength(20);
      expect(new Set(ids).size).toBe(20);
    } finally {
      await Promise.all(others.map((db) => db.destroy()));
    }
  });

  it('a test reaches a disabled one and is tried once; other notifications do not', async () => {
    await using store = await tempMetadata();
    await using hook = await receiver(500);
    const owner = await addNoticeProject(store.db);
    const destination = await addDestination(store.db, owner, { address: { url: hook.url, secret } });
    await enqueueNotice(store.db, failedRun(owner.projectId), now);
    await store.db.updateTable('notice_destinations').set({ enabled: 0 }).execute();
    await enqueueTestNotice(store.db, destination, now);
    await using _sender = startSender(store.db);
    const open = async (): Promise<boolean> => {
      const { deliveries } = await listDeliveries(store.db, destination.id, { limit: 10, offset: 0 });
      return deliveries.every(({ state }) => state === 'failed');
    };
    await until(open);
    expect(hook.received.map(({ body }) => (JSON.parse(body) as { event: string }).event)).toEqual(['test']);
  });
});

describe('a Slack-compatible destination', () => {
  it('receives text in which names cannot notify channels or create links', async () => {
    await using store = await tempMetadata();
    await using hook = await receiver(200);
    const owner = await addNoticeProject(store.db);
    const destination = await addDestination(store.db, owner, { kind: 'slack', address: { url: hook.url } });
    await enqueueNotice(store.db, { ...failedRun(owner.projectId), summary: 'R&D <!channel> failed\nnow' }, now);
    await using _sender = startSender(store.db);
    await until(() => ended(store.db, destination));
    const { text } = JSON.parse(hook.received[0]?.body ?? '') as { text: string };
    expect(text.split('\n')[0]).toBe('*[Millrace, Shop] R&amp;D &lt;!channel&gt; failed now*');
    expect(text).toContain('https://millrace.example.com/console/projects/');
  });
});

describe('an e-mail', () => {
  it('is passed to the mail server for all recipients, in plain text', async () => {
    await using store = await tempMetadata();
    await using mail = await smtpServer();
    const to = ['ops@example.com', 'ada@example.com'];
    const destination = await toldTo(store, { to }, { kind: 'email' });
    const smtp = { smtpUrl: `smtp://127.0.0.1:${mail.port}`, smtpFrom: 'Millrace <millrace@example.com>' };
    await using _sender = startSender(store.db, { smtp });
    await until(() => ended(store.db, destination));
    expect(await stateOf(store.db, destination)).toMatchObject({ state: 'sent', error: '' });
    expect(mail.mails).toHaveLength(1);
    expect(mail.mails[0]).toMatchObject({ from: 'millrace@example.com', to });
    expect(mail.mails[0]?.text).toMatch(/^Subject: \[Millrace, Shop\] Import from files failed/m);
    expect(mail.mails[0]?.text).toContain('Correct it.');
  });

  it.each([
    ['550 no such user', 1, '550 (EENVELOPE)'],
    ['450 try later', 14, '450 (EENVELOPE)'],
  ])('a recipient who is refused with "%s" is tried %i times', async (answer, attempts, reason) => {
    await using store = await tempMetadata();
    await using mail = await smtpServer(() => answer);
    const destination = await toldTo(store, { to: ['ops@example.com'] }, { kind: 'email' });
    const smtp = { smtpUrl: `smtp://127.0.0.1:${mail.port}`, smtpFrom: 'millrace@example.com' };
    await using _sender = startSender(store.db, { smtp });
    await until(async () => {
      await makeDue(store.db);
      return ended(store.db, destination);
    });
    const found = await stateOf(store.db, destination);
    expect([found?.state, found?.attempts, found?.error]).toEqual([
      'failed',
      attempts,
      `expected the mail server to accept the mail, got: ${reason}`,
    ]);
  });

  it('without a mail server fails immediately and names the missing settings', async () => {
    await using store = await tempMetadata();
    const destination = await toldTo(store, { to: ['ops@example.com'] }, { kind: 'email' });
    await using _sender = startSender(store.db);
    await until(() => ended(store.db, destination));
    expect(await stateOf(store.db, destination)).toMatchObject({
      state: 'failed',
      attempts: 1,
      error: expect.stringContaining('MILLRACE_SMTP_URL'),
    });
  });
});
