import { randomUUID } from 'node:crypto';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** A stream laid on disk, for what has to be read from its end; `remove` when it is no longer needed. */
export interface Spooled {
  readonly path: string;
  remove(): Promise<void>;
}

export async function spool(chunks: AsyncIterable<Buffer>, dir: string): Promise<Spooled> {
  await mkdir(dir, { recursive: true });
  const path = join(dir, `${randomUUID()}.spool`);
  const remove = (): Promise<void> => rm(path, { force: true });
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of chunks) await file.appendFile(chunk);
  } catch (error) {
    await file.close();
    await remove();
    throw error;
  }
  await file.close();
  return { path, remove };
}
