// Builds assembly/ into WebAssembly: one file for each of `entries`, in the directory that the caller (build-server.js) passes.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

const entries = ['scan', 'convert'];

/** The code allocates nothing: its caller lays out the memory. */
const flags = ['--runtime', 'stub', '--enable', 'simd', '--importMemory', '--noAssert', '--zeroFilledMemory', '-O3'];

/** `to` is an existing directory, relative to the root of the project. `names` are entries or other files of assembly/. */
export async function buildAssembly(to, names = entries) {
  // Not installed where nothing is built (`npm ci --omit=dev` of an image).
  const { main } = await import('assemblyscript/asc');
  for (const name of names) {
    const source = join('assembly', `${name}.ts`);
    const { error, stderr } = await main([source, '--baseDir', root, '--outFile', join(to, `${name}.wasm`), ...flags]);
    if (error !== null) throw new Error(`${source} could not be built: ${stderr.toString()}`, { cause: error });
  }
}
