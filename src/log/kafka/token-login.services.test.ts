import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, describe, expect, it } from 'vitest';
import { record, texts, noLimits } from '../../../test/conformance/event-log/event-log.ts';
import { kafkaTokenBrokers } from '../../../test/support/kafka-servers.ts';
import { unsecuredToken } from '../../../test/support/kafka-tokens.ts';
import { LogUnavailableError } from '../eventlog.ts';
import { kafkaAccess, parseBroker } from '../kafka-connection/access.ts';
import { bearerLogin, KafkaTokenError, type TokenSource } from '../kafka-connection/bearer-login.ts';
import { testOptions } from './kafka-log.fixture.ts';
import { openKafkaLogReaders } from './reader.ts';
import { openKafkaLogWriter } from './writer.ts';

const noCursors = async () => ({ live: new Map<number, number>(), historical: new Map<number, number>() });
const senders = 16;
/** Logins of each connection. */
const sessions = 4;
const waitMs = 120_000;

/** The first request of a login, and the next one. */
const handshake = 17;
const authenticate = 36;

/** What the client library sends, by connection. */
function watchRequests() {
  const sent = new Map<object, number[]>();
  const channel = 'tracing:plt:kafka:connections:api:start';
  const note = (message: unknown): void => {
    const { connection, apiKey } = message as { readonly connection: object; readonly apiKey: number };
    sent.set(connection, [...(sent.get(connection) ?? []), apiKey]);
  };
  subscribe(channel, note);
  return { sent, stop: () => unsubscribe(channel, note) };
}

describe.skipIf(kafkaTokenBrokers === '')('a broker whose sessions end after some seconds', () => {
  const optionsWith = (token: TokenSource) => {
    const broker = parseBroker(kafkaTokenBrokers);
    if (broker === undefined) throw new Error('expected a broker');
    const sasl = bearerLogin({ token, extensions: { traceId: '1' } });
    return testOptions({
      brokers: [broker],
      access: kafkaAccess({ tls: 'off', ca: '', certificate: '', key: '', sasl }),
    });
  };
  const watch = watchRequests();
  afterEach(() => watch.sent.clear());

  it('connections log in again with a new token, nothing is sent in the middle of it, and every acknowledged record is read once', async () => {
    const options = optionsWith(async () => unsecuredToken(600));
    const writer = await openKafkaLogWriter(options, { cursors: noCursors });
    const readers = await openKafkaLogReaders(options, {});
    const reader = readers.reader(1);
    const acknowledged: string[] = [];
    const over = new AbortController();
    const sending = Array.from({ length: senders }, async (_, sender) => {
      for (let n = 0; !over.signal.aborted; n += 1) {
        // On a busy machine a session may end before its connection has logged in again.
        try {
          await writer.append('live', record(`${sender}:${n}`), 1);
          acknowledged.push(`${sender}:${n}`);
        } catch (error) {
          if (!(error instanceof LogUnavailableError)) throw error;
        }
      }
    });
    const found: string[] = [];
    let seq = 0;
    const readMore = async (): Promise<number> => {
      const records = await reader.read('live', seq, noLimits);
      seq = records.at(-1)?.seq ?? seq;
      found.push(...texts(records));
      if (records.length === 0) await reader.waitForAppend(100);
      return records.length;
    };
    const loginsOf = (requests: readonly number[]): number => requests.filter((key) => key === handshake).length;
    const end = performance.now() + waitMs;
    const isOver = (): boolean =>
      [...watch.sent.values()].filter((requests) => loginsOf(requests) >= sessions).length >= 3;
    while (!isOver() && performance.now() < end) await readMore();
    over.abort();
    await Promise.all(sending);
    while ((await readMore()) > 0);
    expect(isOver()).toBe(true);
    expect(new Set(found).size).toBe(found.length);
    expect([...new Set(acknowledged).difference(new Set(found))]).toEqual([]);
    for (const requests of watch.sent.values()) {
      const next = requests.flatMap((key, at) => (key === handshake ? [requests[at + 1] ?? authenticate] : []));
      expect(new Set(next)).toEqual(new Set([authenticate]));
    }
    await readers.close();
    await writer.close();
  }, 180_000);

  it('without tokens appends are refused with the reason once the sessions have ended, and continue when there are tokens', async () => {
    let isIssuing = true;
    const options = optionsWith(async () => {
      if (isIssuing) return unsecuredToken(600);
      throw new KafkaTokenError('the provider is away', false);
    });
    const writer = await openKafkaLogWriter({ ...options, appendTimeoutMs: 2000 }, { cursors: noCursors });
    const attempts = new Map<string, boolean>();
    const append = async (): Promise<string> => {
      const text = `a ${attempts.size}`;
      attempts.set(text, false);
      try {
        await writer.append('live', record(text), 1);
        attempts.set(text, true);
        return 'appended';
      } catch (error) {
        if (!(error instanceof LogUnavailableError)) throw error;
        return error.message;
      }
    };
    expect(await append()).toBe('appended');
    isIssuing = false;
    await expect.poll(append, { timeout: waitMs }).toContain('the provider is away');
    isIssuing = true;
    await expect.poll(append, { timeout: waitMs }).toBe('appended');
    const readers = await openKafkaLogReaders(options, {});
    const found = texts(await readers.reader(1).read('live', 0, noLimits));
    expect(new Set(found).size).toBe(found.length);
    expect([...attempts].filter(([text, isIn]) => isIn && !found.includes(text))).toEqual([]);
    await readers.close();
    await writer.close();
  }, 180_000);

  it.each<[string, TokenSource, string, RegExp]>([
    [
      'an expired token',
      async () => unsecuredToken(-30),
      'LogMisconfiguredError',
      /the broker refuses the token \(invalid_token\): it must be valid at the clock of the broker/,
    ],
    ['no token', async () => 'hunter2', 'LogMisconfiguredError', /the broker refuses the token \(invalid_token\)/],
    [
      'a provider that refuses the client',
      async () => {
        throw new KafkaTokenError('wrong secret', true);
      },
      'LogMisconfiguredError',
      /^Kafka at 127\.0\.0\.1:\d+: wrong secret$/,
    ],
  ])('%s is refused with what to change, without the token', async (_, token, name, sentence) => {
    const opening = openKafkaLogWriter(optionsWith(token), { cursors: noCursors });
    await expect(opening).rejects.toMatchObject({ name, message: expect.stringMatching(sentence) });
    const error: unknown = await opening.catch((refused: unknown) => refused);
    expect(String(error)).not.toContain('hunter2');
  });
});
