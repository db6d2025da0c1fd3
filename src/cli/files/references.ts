import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { isObject, type JsonValue } from '../../base/json.ts';
import type { CommandProcess } from '../terminal.ts';

/** Where the value of a setting is found outside of the file. */
export type Reference = { readonly env: string } | { readonly file: string };

/** Reads the values of references, `undefined` if missing. */
export interface References {
  /** Returns a variable, or a file without its final line break. An empty variable counts as missing. */
  text(reference: Reference): string | undefined;
  bytes(path: string): Uint8Array | undefined;
}

/** @param folder base of relative paths */
export function createReferences(env: CommandProcess['env'], folder: string): References {
  const bytes = (path: string): Uint8Array | undefined => {
    try {
      return readFileSync(resolve(folder, path));
    } catch {
      // Callers report all missing files together.
      return undefined;
    }
  };
  return {
    bytes,
    text(reference) {
      if ('env' in reference) return env[reference.env] === '' ? undefined : env[reference.env];
      const content = bytes(reference.file);
      return content === undefined
        ? undefined
        : Buffer.from(content)
            .toString('utf8')
            .replace(/\r?\n$/, '');
    },
  };
}

/** Returns the reference that a value is, if any. */
export function referenceIn(value: JsonValue | undefined): Reference | undefined {
  if (!isObject(value) || Object.keys(value).length !== 1) return undefined;
  const { env, file } = value;
  if (typeof env === 'string' && /^[A-Za-z_]\w*$/.test(env)) return { env };
  return typeof file === 'string' && file !== '' ? { file } : undefined;
}

/** Returns `variable TOKEN` or `file secrets/token`. */
export function placeOf(reference: Reference): string {
  return 'env' in reference ? `variable ${reference.env}` : `file ${reference.file}`;
}

export function fileNameOf(path: string): string {
  return basename(path);
}
