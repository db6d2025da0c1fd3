// Builds assembly/ into WebAssembly: one file for each of `entries`, in the directory that the caller (build-server.js) passes.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

const entries = ['scan', 'convert'];

/** Nothing is allocated by the code itself: who calls it says where things lie. */
const flags = ['--runtime', 'stub', '--enable', 'simd', '--importMemory', '--noAssert', '--zeroFilledMemory', '-O3'];

/** `to`: an existing directory, from the root of the project. `names`: of the entries, or of others in assembly/. */
export async function buildAssembly(to, names = entries) {
  // Where nothing is built (`npm ci --omit=dev` of an image), it is not installed.
  const { main } = await import('assemblyscript/asc');
  for (const name of names) {
    const source = join('assembly', `${name}.ts`);
    const { error, stderr } = await main([source, '--baseDir', root, '--outFile', join(to, `${name}.wasm`), ...flags]);
    if (error !== null) throw new Error(`${source} could not be built: ${stderr.toString()}`, { cause: error });
  }
}
