import { expect, it } from 'vitest';
import { testServer } from '../../../test/support/outbound-server.ts';
import { parseAllowList } from './allow-list.ts';
import { fetchLoadedLate, streamLoadedLate } from './load-late.ts';

const limits = { timeoutMs: 5000, bytesMax: 1000 };
const signal = new AbortController().signal;

it('requests that begin while the client is loading use the same one, and closing it ends its connections', async () => {
  await using server = await testServer((_request, response) => void response.end('here'));
  const url = `http://127.0.0.1:${server.port}/`;
  const allow = parseAllowList('127.0.0.1');
  const fetch = fetchLoadedLate({ allow, ...limits });
  const answers = await Promise.all([fetch({ url }), fetch({ url })]);
  expect(answers.map(({ body }) => Buffer.from(body).toString())).toEqual(['here', 'here']);
  const stream = streamLoadedLate({ allow });
  expect(Buffer.concat(await Array.fromAsync((await stream({ url, signal })).body)).toString()).toBe('here');
  await Promise.all([fetch.close(), stream.close()]);
  await expect(fetch({ url })).rejects.toThrow(`the request to http://127.0.0.1:${server.port} failed`);
});

it('a forbidden address is refused by the first request as by any other', async () => {
  const fetch = fetchLoadedLate({ allow: [], ...limits });
  await expect(fetch({ url: 'http://127.0.0.1:1/' })).rejects.toMatchObject({ kind: 'address' });
  await fetch.close();
});

it('an unused one has nothing to close', async () => {
  await expect(streamLoadedLate({ allow: [] }).close()).resolves.toBeUndefined();
});
