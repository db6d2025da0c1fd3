import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { dayMs } from '../../base/time.ts';
import { withStaging, type Kept } from '../../../test/support/kept-runs.ts';
import { newRun, start } from '../../../test/support/runs.ts';
import { createRun } from '../run/run-store.ts';
import { cancelRun } from '../run/run-transitions.ts';
import { removeOldUploads } from './remove-old-uploads.ts';
import { addPiece, listUploads, newPieceKey } from './staged-uploads.ts';

const now = start + 100 * dayMs;
const name = "it's 鞋 [1].jsonl";

async function stage({ db, staging, project }: Kept, file: string, ageDays: number): Promise<void> {
  const at = now - ageDays * dayMs;
  const key = newPieceKey(project.projectId, at);
  const { bytes } = await staging.write(key, [Buffer.from('{}\n')]);
  const piece = { name: file, start: 0, piece: { key, bytes }, now: at };
  await db.transaction().execute((tx) => addPiece(tx, project.projectId, piece));
}

async function store({ dir, project }: Kept, file: string, ageDays: number): Promise<string> {
  const uploadsDir = join(dir, 'uploads');
  const path = join(uploadsDir, String(project.projectId), file);
  await mkdir(join(uploadsDir, String(project.projectId)), { recursive: true });
  await writeFile(path, '{}\n');
  await utimes(path, new Date(now - ageDays * dayMs), new Date(now - ageDays * dayMs));
  return uploadsDir;
}

it('removes files of a directory by age, and keeps them all without days', () =>
  withStaging(async (kept) => {
    for (const [file, age] of [
      ['new', 29],
      [name, 31],
    ] as const)
      await store(kept, file, age);
    const uploadsDir = join(kept.dir, 'uploads');
    await mkdir(join(uploadsDir, 'no project'));
    const { projectId } = kept.project;
    expect(await removeOldUploads({ ...kept, uploadsDir, days: 0 }, now)).toEqual([]);
    expect(await removeOldUploads({ ...kept, uploadsDir, days: 30 }, now)).toEqual([`${projectId}/${name}`]);
    expect(await readdir(join(uploadsDir, String(projectId)))).toEqual(['new']);
    expect(await removeOldUploads({ ...kept, uploadsDir, days: 30 }, now)).toEqual([]);
  }));

it('removes staged files by age, with their pieces', () =>
  withStaging(async (kept) => {
    for (const [file, age] of [
      ['new', 29],
      [name, 31],
    ] as const)
      await stage(kept, file, age);
    const { projectId } = kept.project;
    const options = { ...kept, uploadsDir: undefined, days: 30 };
    expect(await removeOldUploads(options, now)).toEqual([`${projectId}/${name}`]);
    expect((await listUploads(kept.db, projectId)).map((each) => each.name)).toEqual(['new']);
    expect(await kept.staging.list('uploads/')).toHaveLength(1);
  }));

it('keeps files of a project with a run that has not ended', () =>
  withStaging(async (kept) => {
    await stage(kept, name, 31);
    const uploadsDir = await store(kept, name, 31);
    await createRun(kept.db, newRun({ id: 'open', ...kept.project }));
    for (const place of [undefined, uploadsDir]) {
      expect(await removeOldUploads({ ...kept, uploadsDir: place, days: 30 }, now)).toEqual([]);
    }
    await cancelRun(kept.db, 'open', now);
    for (const place of [undefined, uploadsDir]) {
      expect(await removeOldUploads({ ...kept, uploadsDir: place, days: 30 }, now)).toHaveLength(1);
    }
  }));
