import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const made = mkdtempSync(join(tmpdir(), 'millrace-assembly-'));
afterAll(() => rmSync(made, { recursive: true }));

it('the build of assembly/ matches these sources', { timeout: 120_000 }, async () => {
  const { href } = new URL('../tools/build-assembly.js', import.meta.url);
  const { buildAssembly } = (await import(href)) as { buildAssembly: (to: string) => Promise<void> };
  await buildAssembly(relative(root, made));
  const names = readdirSync(made);
  expect(names).toContain('scan.wasm');
  const stale = names.filter((name) => {
    const built = join(root, 'dist', name);
    return !existsSync(built) || !readFileSync(built).equals(readFileSync(join(made, name)));
  });
  // `npm run build` compiles them; with a stale build the results of all other tests of them are meaningless.
  expect(stale).toEqual([]);
});
