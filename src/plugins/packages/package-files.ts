import { isUtf8 } from 'node:buffer';
import { PluginPackageError } from '../plugin-package-error.ts';

/** Files of a package by path from its root, `/` between folders. */
export type PackageFiles = ReadonlyMap<string, Uint8Array>;

/** A repository of many plugins is one archive, of which only a folder is unpacked. */
export const archiveBytesMax = 100 * 1024 * 1024;
export const unpackedBytesMax = 50 * 1024 * 1024;
export const filesMax = 2000;
const pathLengthMax = 500;

interface FileCollector {
  /** Bytes left until the package is too large. */
  readonly bytesLeft: () => number;
  add(path: string, content: Uint8Array): void;
  readonly files: () => Map<string, Uint8Array>;
}

/** Collects files up to the limits of a package. Throws PluginPackageError beyond them. */
export function collectFiles(attr: 'files' | 'archive' | 'url' | 'npm'): FileCollector {
  const files = new Map<string, Uint8Array>();
  let bytes = 0;
  return {
    bytesLeft: () => unpackedBytesMax - bytes,
    add(path, content) {
      bytes += content.byteLength;
      if (bytes > unpackedBytesMax) throw tooMuch(attr);
      if (files.size === filesMax && !files.has(path)) {
        throw new PluginPackageError(`The package has more than ${filesMax} files.`, { attr });
      }
      files.set(path, content);
    },
    files: () => files,
  };
}

export function tooMuch(attr: 'files' | 'archive' | 'url' | 'npm'): PluginPackageError {
  return new PluginPackageError(`The package has more than ${unpackedBytesMax / 1024 / 1024} MiB when unpacked.`, {
    attr,
  });
}

/** Normalises a path below the package's root; `undefined` if it is invalid or leads outside. */
export function cleanPath(path: string): string | undefined {
  if (path === '' || path.length > pathLengthMax || /[\0\\]|^[A-Za-z]:|^\//.test(path)) return undefined;
  const parts = path.split('/').filter((part) => part !== '.' && part !== '');
  if (parts.length === 0 || parts.includes('..')) return undefined;
  return parts.join('/');
}

/** Whether an operating system added the file to an archive. */
export function isClutter(path: string): boolean {
  return path.startsWith('__MACOSX/') || /(^|\/)(\.DS_Store|Thumbs\.db)$/.test(path);
}

/** Removes an archive's only top-level folder. */
export function withoutTopFolder(files: PackageFiles): PackageFiles {
  const tops = new Set([...files.keys()].map((path) => path.slice(0, path.indexOf('/') + 1)));
  const [top = ''] = tops;
  if (tops.size !== 1 || top === '') return files;
  return new Map([...files].map(([path, content]) => [path.slice(top.length), content]));
}

/** Returns the text of those files that are text. */
export function textFiles(files: PackageFiles): Map<string, string> {
  const texts = new Map<string, string>();
  for (const [path, content] of files) {
    const text = textOf(content);
    if (text !== undefined) texts.set(path, text);
  }
  return texts;
}

export function textOf(content: Uint8Array): string | undefined {
  if (content.includes(0) || !isUtf8(content)) return undefined;
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('utf8');
}
