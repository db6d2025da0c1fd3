import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../../test/support/command.ts';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import type { SignedCertificate } from '../../wire/contract/erasure-certificates.ts';
import { erasureKind } from '../../queue/erasures/erasure.ts';
import { claimTask, completeTask, enqueueTask } from '../../queue/tasks/task-store.ts';
import { erasureCertificateRoutes } from './erasure-certificates.ts';

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
let app: TestApp;
let headers: { authorization: string };
let folder: string;
let path: string;
beforeAll(async () => {
  app = await startTestApp((db, { clock }) => erasureCertificateRoutes({ db, clock }));
  headers = { authorization: `Bearer ${await app.key(['erasure:read'])}` };
  path = `/api/projects/${app.project.id}/erasures`;
  folder = await mkdtemp(join(tmpdir(), 'certificates-'));
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const counts = {
  events: 5002,
  rows: 5003,
  by_name: { 'größe "x"': 5002 },
  by_month: { '2024-03': 5002 },
  distinct_ids: 3,
  persons: 1,
  dead_letters: 0,
  other_rows: 0,
  staged_runs: [],
};

async function addErasure(): Promise<string> {
  const spec = { by: 'persons', requested_ids: 1, selection: null };
  const { db } = app;
  const now = app.clock.now();
  return enqueueTask(db, {
    projectId: app.project.id,
    kind: erasureKind,
    spec,
    secrets: { ids: '["ada"]' },
    createdBy: null,
    now,
  });
}

async function complete(): Promise<void> {
  const now = app.clock.now();
  const held = await claimTask(app.db, erasureKind, { now, leaseMs: 60_000 });
  if (held === undefined) throw new Error('expected an erasure');
  const result = { ...counts, rows_left: 0, persons_rebuilt: 0, groups_rebuilt: 0, log: 'erased' };
  expect(await completeTask(app.db, held, result, now)).toBe(true);
}

async function certificateOf(id: string): Promise<SignedCertificate> {
  const reply = await app.inject({ url: `${path}/${id}/certificate/`, headers });
  expect(reply.statusCode).toBe(200);
  return reply.json<SignedCertificate>();
}

const verify = async (signed: unknown, ...more: string[]) => {
  const file = join(folder, 'certificate.json');
  await writeFile(file, JSON.stringify(signed, null, 2));
  return runCommand(['erasures', 'verify', file, ...more]);
};

describe('certificates of erasures', () => {
  it('state what was erased and when, without ids of persons', async () => {
    const id = await addErasure();
    await complete();
    const signed = await certificateOf(id);
    expect(signed.certificate).toMatchObject({
      format: 'millrace-erasure-certificate/1',
      erasure: id,
      project: { id: app.project.id, uuid: app.project.uuid },
      request: { by: 'persons', requested_ids: 1 },
      result: { events: 5002, rows_left: 0 },
    });
    expect(JSON.stringify(signed)).not.toContain('ada');
    expect(await certificateOf(id)).toEqual(signed);
  });

  it.skipIf(!hasOpenssl)('OpenSSL verifies one with the key of the project', async () => {
    const id = await addErasure();
    await complete();
    const signed = await certificateOf(id);
    const key = (await app.inject({ url: `${path}/public_key/`, headers })).json<{ public_key: string; pem: string }>();
    expect(key.public_key).toBe(signed.signature.public_key);
    const place = (name: string): string => join(folder, name);
    await writeFile(place('key.pem'), key.pem);
    await writeFile(place('text'), canonicalJson(signed.certificate));
    await writeFile(place('signature'), Buffer.from(signed.signature.value, 'base64'));
    const words = ['-verify', '-pubin', '-inkey', place('key.pem'), '-rawin', '-in', place('text')];
    const shown = execFileSync('openssl', ['pkeyutl', ...words, '-sigfile', place('signature')]).toString();
    expect(shown).toContain('Verified Successfully');
  });

  it('the command accepts one as it is, with the key that is expected, and nothing that was changed', async () => {
    const id = await addErasure();
    await complete();
    const signed = await certificateOf(id);
    const fine = await verify(signed, '--public-key', signed.signature.public_key);
    expect([fine.code, fine.stdout]).toEqual([0, expect.stringMatching(/signature +valid[^]*5,002/)]);
    const { certificate } = signed;
    const changed = { ...signed, certificate: { ...certificate, result: { ...certificate.result, events: 1 } } };
    expect(await verify(changed)).toMatchObject({ code: 1, stderr: expect.stringContaining('it was changed') });
    const more = { ...signed, certificate: { ...certificate, more: true } };
    expect((await verify(more)).code).toBe(1);
    expect(await verify(signed, '--public-key', 'AAAA')).toMatchObject({ code: 1 });
    expect(await verify({ signed })).toMatchObject({ code: 1, stderr: expect.stringContaining('got other JSON') });
  });

  it('an erasure that is not done has none, and neither has one of another project or kind', async () => {
    const id = await addErasure();
    const early = await app.inject({ url: `${path}/${id}/certificate/`, headers });
    expect([early.statusCode, early.json()]).toMatchObject([
      409,
      { detail: 'Expected an erasure that is done, got: one that is queued.' },
    ]);
    const other = `/api/projects/${app.otherProject.id}/erasures/${id}/certificate/`;
    expect((await app.inject({ url: other, headers })).statusCode).toBe(404);
    const weak = { authorization: `Bearer ${await app.key(['*'])}` };
    expect((await app.inject({ url: `${path}/${id}/certificate/`, headers: weak })).statusCode).toBe(403);
  });
});
