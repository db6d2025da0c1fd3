import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const service = 'http://127.0.0.1:8000';
/** Paths that the development server forwards to the service. */
const proxied = ['/api', '/login', '/logout', '/readyz', '/livez', '/batch', '/e', '/i'];

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/console/',
  plugins: [react(), tailwind(), compressed()],
  build: {
    outDir: 'dist',
    manifest: 'manifest.json',
    emptyOutDir: true,
    target: 'es2023',
    // Inlined files would be data: URLs, which the content security policy refuses.
    assetsInlineLimit: 0,
    // A test checks the sizes.
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000,
    // A small file costs as much in headers as in content: what six pages use is in one file.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'shared', minShareCount: 6 }] } } },
  },
  server: {
    // The host of the service, so that its session cookie works here too.
    host: '127.0.0.1',
    port: 5173,
    proxy: Object.fromEntries(proxied.map((path) => [path, { target: service, changeOrigin: true }])),
  },
});

/** Writes a .br and a .gz file for every text file of the build: the service compresses only JSON itself. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    writeBundle({ dir = '' }) {
      for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(js|css|html|svg)$/.test(name)) continue;
        const bytes = readFileSync(join(dir, name));
        writeFileSync(join(dir, `${name}.gz`), gzipSync(bytes, { level: 9 }));
        const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
        writeFileSync(join(dir, `${name}.br`), brotliCompressSync(bytes, { params }));
      }
    },
  };
}
