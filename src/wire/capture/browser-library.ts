import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Encoding, ServedFile } from '../../server/http/send-file.ts';

/**
 * The scripts of the browser library that a page may ask for: what the HTML snippet names, and what the library fetches when
 * a page turns on more than the usual. No file of the package but these can be had.
 */
export const libraryScripts = [
  'array',
  'array.full',
  'array.full.es5',
  'array.full.no-external',
  'array.no-external',
  'all-external-dependencies',
  'conversations',
  'crisp-chat-integration',
  'customizations.full',
  'dead-clicks-autocapture',
  'exception-autocapture',
  'external-scripts-loader',
  'intercom-integration',
  'lazy-recorder',
  'logs',
  'posthog-recorder',
  'product-tours',
  'recorder',
  'recorder-v2',
  'surveys',
  'tracing-headers',
  'web-vitals',
  'web-vitals-soft-navs',
  'web-vitals-with-attribution',
  'web-vitals-with-attribution-soft-navs',
] as const;

export interface BrowserLibrary {
  /** As the library names itself, such as `1.434.18`. */
  readonly version: string;
  /** By name, such as `array.js` and `array.js.map`. */
  readonly files: ReadonlyMap<string, ServedFile>;
}

/** The browser library as its npm package has it; its files are read when they are first asked for, and kept. */
export function openBrowserLibrary(): BrowserLibrary {
  const installed = createRequire(import.meta.url);
  const { version } = installed('posthog-js/package.json') as { readonly version: string };
  const dir = dirname(installed.resolve('posthog-js/dist/array.js'));
  const names = libraryScripts.flatMap((name) => [`${name}.js`, `${name}.js.map`]);
  return { version, files: new Map(names.map((name) => [name, describeFile(join(dir, name))])) };
}

function describeFile(path: string): ServedFile {
  const made = new Map<Encoding | undefined, Promise<Buffer>>();
  return {
    type: path.endsWith('.map') ? 'application/json; charset=utf-8' : 'text/javascript; charset=utf-8',
    encodings: ['br', 'gzip'],
    async read(encoding) {
      const bytes = made.get(encoding) ?? encode(path, encoding);
      made.set(encoding, bytes);
      try {
        return await bytes;
      } catch (error) {
        // What failed once may be readable the next time.
        made.delete(encoding);
        throw error;
      }
    },
  };
}

/** Compressed once and sent often, but by whoever waits for it: the last few percent would take a second. */
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

async function encode(path: string, encoding: Encoding | undefined): Promise<Buffer> {
  const bytes = await readFile(path);
  if (encoding === undefined) return bytes;
  return encoding === 'br' ? promisify(brotliCompress)(bytes, brotliOptions) : promisify(gzip)(bytes);
}
