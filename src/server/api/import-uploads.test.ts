import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFiles } from '../../imports/sources/find-files.ts';
import { fileNameOf } from './import-upload-rules.ts';
import { startImportsApp, type ImportsApp } from '../../../test/support/imports-app.ts';

const form = 'multipart/form-data; boundary=b';
const partOf = (name: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"; filename="a.jsonl"\r\n\r\n`;
const binary = { 'content-type': 'application/octet-stream' };

function upload(api: ImportsApp, query: string, content: Buffer) {
  return api.call('POST', `/import_files/${query}`, content, binary);
}

function stored(api: ImportsApp, name: string): Promise<Buffer> {
  return readFile(join(api.uploadsDir, String(api.app.project.id), name));
}

/** For tests that leave nothing behind. */
let uploads: ImportsApp;
beforeAll(async () => {
  uploads = await startImportsApp();
});
afterAll(() => uploads[Symbol.asyncDispose]());

describe('files to import', () => {
  it('are kept as they came, listed and deleted', async () => {
    await using api = await startImportsApp();
    const content = randomBytes(300_000);
    const { status, body, headers } = await upload(api, '?name=events.jsonl.gz', content);
    expect(status).toBe(201);
    const sha256 = createHash('sha256').update(content).digest('hex');
    expect(body).toMatchObject({ name: 'events.jsonl.gz', path: 'upload:events.jsonl.gz', bytes: 300_000, sha256 });
    expect(String(headers['location'])).toMatch(/\/import_files\/events\.jsonl\.gz\/$/);
    expect((await stored(api, 'events.jsonl.gz')).equals(content)).toBe(true);
    const list = await api.call('GET', '/import_files/');
    expect(list.body).toMatchObject({ count: 1, bytes_max: 1_000_000, results: [{ name: 'events.jsonl.gz' }] });
    expect((await api.call('DELETE', '/import_files/events.jsonl.gz/')).status).toBe(204);
    expect((await api.call('DELETE', '/import_files/events.jsonl.gz/')).status).toBe(404);
    expect((await api.call('GET', '/import_files/')).body['count']).toBe(0);
  });

  it('come as a form as well, with their own name', async () => {
    await using api = await startImportsApp();
    const form = new FormData();
    form.set('file', new Blob(['{"event":"a"}\n']), '../../march events.jsonl');
    const request = new Request('http://localhost', { method: 'POST', body: form });
    const headers = { 'content-type': request.headers.get('content-type') ?? '' };
    const payload = Buffer.from(await request.arrayBuffer());
    const { status, body } = await api.call('POST', '/import_files/', payload, headers);
    expect(status).toBe(201);
    expect(body['name']).toBe('march_events-4cf6ef3a.jsonl');
    expect((await stored(api, 'march_events-4cf6ef3a.jsonl')).toString()).toBe('{"event":"a"}\n');
  });

  it.each([
    ['no boundary', 'multipart/form-data', `${partOf('file')}x\r\n--b--\r\n`],
    ['an empty boundary', 'multipart/form-data; boundary=', 'x'],
    ['another boundary', form, '--c\r\n\r\nx\r\n--c--\r\n'],
    ['half a head', form, '--b\r\nContent-Disposition: form-da'],
    ['half a file', form, `${partOf('file')}x`],
    ['half of the last boundary', form, `${partOf('file')}x\r\n--b-`],
    ['a part without headers', form, '--b\r\n\r\nx\r\n--b--\r\n'],
    ['a malformed header', form, '--b\r\nContent-Disposition\r\n\r\nx\r\n--b--\r\n'],
    ['no file', form, '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--b--\r\n'],
    ['no part', form, '--b--\r\n'],
  ])('as a form with %s are refused with 400, and nothing is kept', async (_what, type, payload) => {
    const { status, body } = await uploads.call('POST', '/import_files/', Buffer.from(payload), {
      'content-type': type,
    });
    expect([status, ['parse_error', 'required']]).toEqual([400, expect.arrayContaining([body['code']])]);
    expect((await uploads.call('GET', '/import_files/')).body['count']).toBe(0);
    expect(uploads.app.logged.filter((line) => 'err' in line)).toEqual([]);
  });

  it('that are partly uploaded replace nothing and are read by no import until they are complete', async () => {
    await using api = await startImportsApp();
    const whole = Buffer.from('{"event":"new"}\n');
    await upload(api, '?name=a.jsonl', Buffer.from('{"event":"old"}\n'));
    const begun = await upload(api, `?name=a.jsonl&offset=0&size=${whole.length}`, whole.subarray(0, 5));
    expect(begun.body).toMatchObject({ name: 'a.jsonl', bytes: 5, complete: false });
    const { body } = await api.call('GET', '/import_files/');
    expect(body['results']).toMatchObject([
      { name: 'a.jsonl', complete: true },
      { name: 'a.jsonl', complete: false },
    ]);
    expect((await stored(api, 'a.jsonl')).toString()).toBe('{"event":"old"}\n');
    const places = { allowedDirs: undefined, uploadsDir: join(api.uploadsDir, String(api.app.project.id)) };
    const sentence = 'expected upload:a.jsonl to be uploaded as a whole, got its first 5 bytes';
    await expect(findFiles(['upload:*'], places)).rejects.toThrow(sentence);
    const rest = await upload(api, `?name=a.jsonl&offset=5&size=${whole.length}`, whole.subarray(5));
    expect(rest.body).toMatchObject({ name: 'a.jsonl', bytes: whole.length, complete: true });
    expect((await stored(api, 'a.jsonl')).equals(whole)).toBe(true);
    expect(await findFiles(['upload:*'], places)).toMatchObject([{ shown: 'upload:a.jsonl' }]);
  });

  it('of which a part is there are named where they are asked for, and can be deleted', async () => {
    await using api = await startImportsApp();
    await upload(api, '?name=b.jsonl&size=10', Buffer.from('12345'));
    const places = { allowedDirs: undefined, uploadsDir: join(api.uploadsDir, String(api.app.project.id)) };
    await expect(findFiles(['upload:b.jsonl'], places)).rejects.toThrow('upload:b.jsonl to be uploaded as a whole');
    expect((await api.call('DELETE', '/import_files/b.jsonl/')).status).toBe(204);
    await expect(findFiles(['upload:b.jsonl'], places)).rejects.toThrow('found none');
  });

  it('longer than announced are refused, and nothing of them is kept', async () => {
    const { status, body } = await upload(uploads, '?name=c.jsonl&size=3', Buffer.from('12345'));
    expect([status, body['attr']]).toEqual([400, 'size']);
    expect((await uploads.call('GET', '/import_files/')).body['count']).toBe(0);
  });

  it('may be sent in pieces; a piece at the wrong offset changes nothing and returns the right one', async () => {
    await using api = await startImportsApp();
    const content = randomBytes(5_000);
    await upload(api, '?name=a.bin', content.subarray(0, 2_000));
    const wrong = await upload(api, '?name=a.bin&offset=3000', content.subarray(3_000));
    expect(wrong.status).toBe(409);
    expect(wrong.body['detail']).toContain('start at 2000');
    const last = await upload(api, '?name=a.bin&offset=2000', content.subarray(2_000));
    expect(last.body['bytes']).toBe(5_000);
    expect((await stored(api, 'a.bin')).equals(content)).toBe(true);
  });

  it('that are too large, or break off, leave what was there', async () => {
    await using api = await startImportsApp({ uploadBytesMax: 1_000 });
    await api.app.app.listen({ port: 0, host: '127.0.0.1' });
    await upload(api, '?name=a.bin', Buffer.from('before'));
    const large = await upload(api, '?name=a.bin', randomBytes(1_001));
    expect(large.status).toBe(413);
    const more = await upload(api, '?name=a.bin&offset=6', randomBytes(995));
    expect(more.status).toBe(413);
    await breakOff(api, 'a.bin');
    // The client left: that is no fault of the storage, which an operator would be woken for.
    await expect.poll(() => api.app.logged.some(({ msg }) => String(msg).startsWith('request'))).toBe(true);
    expect(api.app.logged.filter(({ level }) => level === 'error')).toEqual([]);
    await expect.poll(() => readdir(join(api.uploadsDir, String(api.app.project.id)))).toEqual(['a.bin']);
    expect((await stored(api, 'a.bin')).toString()).toBe('before');
    // And the name is free again.
    expect((await upload(api, '?name=a.bin', Buffer.from('after'))).status).toBe(201);
  });

  it('of a project have a total limit: deleted and replaced files make room, and concurrent uploads cannot exceed it', async () => {
    await using api = await startImportsApp({ uploadsBytesMax: 10_000 });
    expect((await upload(api, '?name=a.bin', randomBytes(6_000))).status).toBe(201);
    const refused = await upload(api, '?name=b.bin', randomBytes(4_001));
    expect([refused.status, refused.body['detail']]).toEqual([
      413,
      expect.stringMatching(/at most 10000 bytes in total .* 4000 are left; delete files/),
    ]);
    expect((await upload(api, '?name=a.bin&offset=6000', randomBytes(4_001))).status).toBe(413);
    const list = await api.call('GET', '/import_files/');
    expect(list.body).toMatchObject({ count: 1, total_bytes: 6_000, total_bytes_max: 10_000 });
    // In the place of the old one.
    expect((await upload(api, '?name=a.bin', randomBytes(9_000))).status).toBe(201);
    await api.call('DELETE', '/import_files/a.bin/');
    const both = await Promise.all(['c.bin', 'd.bin'].map((name) => upload(api, `?name=${name}`, randomBytes(6_000))));
    expect(both.map(({ status }) => status).toSorted()).toEqual([201, 413]);
    await expect.poll(() => readdir(join(api.uploadsDir, String(api.app.project.id)))).toHaveLength(1);
  });

  it('are refused without a name and as any other type; other routes take no bytes', async () => {
    await using api = await startImportsApp();
    expect((await upload(api, '', Buffer.from('x'))).body).toMatchObject({ code: 'required', attr: 'name' });
    expect((await upload(api, '?name=..', Buffer.from('x'))).status).toBe(400);
    expect((await api.call('POST', '/import_files/?name=a', { a: 1 })).status).toBe(415);
    const elsewhere = await api.call('POST', '/pipeline_import_apps_configs/', Buffer.from('x'), binary);
    expect(elsewhere.status).toBe(415);
  });

  it('of another project are out of reach', async () => {
    await using api = await startImportsApp();
    await upload(api, '?name=a.bin', Buffer.from('mine'));
    const url = `/api/projects/${api.app.otherProject.id}/import_files/`;
    const list = await api.app.inject({ method: 'GET', url, headers: { authorization: api.authorization } });
    expect(list.json()).toMatchObject({ count: 0 });
    const { status } = await api.call(
      'DELETE',
      `/import_files/${encodeURIComponent(`../${api.app.project.id}/a.bin`)}/`,
    );
    expect(status).toBe(404);
    expect((await stored(api, 'a.bin')).toString()).toBe('mine');
  });

  it('have names that are names everywhere', () => {
    const names: readonly [given: string, name: string][] = [
      ['events.jsonl', 'events.jsonl'],
      ['/etc/passwd', 'passwd'],
      ['..\\..\\a.csv', 'a.csv'],
      ['_.csv', '_.csv'],
      ['.hidden', 'file-16924190.hidden'],
      ['Übung 1 (Kopie).csv', 'bung_1_Kopie-d0ac90f8.csv'],
      ['a\u0000b\n.gz', 'a_b-369ea10a.gz'],
      ['東京.json.gz', 'file-129c4721.json.gz'],
    ];
    for (const [given, name] of names) expect(fileNameOf(given)).toBe(name);
    for (const [, name] of names) expect(fileNameOf(name)).toBe(name);
    expect(fileNameOf(`${'x'.repeat(500)}.gz`)).toMatch(/^x+-[0-9a-f]{8}\.gz$/);
    expect(fileNameOf(`${'x'.repeat(500)}.gz`)).toHaveLength(150);
    for (const given of ['../..', '', '"…".']) expect(() => fileNameOf(given)).toThrow(/letters or digits/);
  });

  it('that differ in any character are those of different files', () => {
    const given = [
      '東京.csv',
      '大阪.csv',
      '.csv',
      'csv',
      'é.csv',
      'e\u0301.csv',
      'a b.csv',
      'a_b.csv',
      'a  b.csv',
      '_.csv',
      ' .csv',
    ];
    expect(new Set(given.map(fileNameOf)).size).toBe(given.length);
    const long = ['a', 'b'].map((last) => `${'x'.repeat(300)}${last}.csv`);
    expect(new Set(long.map(fileNameOf)).size).toBe(2);
  });
});

/** Says that 900 bytes come, sends 100, and is gone. */
async function breakOff(api: ImportsApp, name: string): Promise<void> {
  const { port } = api.app.app.server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  const head = [
    `POST ${api.base}/import_files/?name=${name} HTTP/1.1`,
    'host: localhost',
    `authorization: ${api.authorization}`,
    'content-type: application/octet-stream',
    'content-length: 900',
  ];
  const sent = Promise.withResolvers<void>();
  socket.once('error', sent.reject);
  socket.write(`${head.join('\r\n')}\r\n\r\n${'x'.repeat(100)}`, () => setTimeout(sent.resolve, 100));
  await sent.promise;
  socket.destroy();
}
