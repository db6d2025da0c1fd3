import { deflateRawSync, gzipSync } from 'node:zlib';

/** For tests: a member of an archive, also one that no honest tool would write. */
export interface TestMember {
  readonly path: string;
  readonly content?: string | Uint8Array;
  readonly kind?: 'file' | 'folder' | 'link';
  /** Where a link leads. */
  readonly target?: string;
  /** Size that the archive claims, when it is not the real one. */
  readonly claims?: number;
}

export function members(files: Readonly<Record<string, string | Uint8Array>>): TestMember[] {
  return Object.entries(files).map(([path, content]) => ({ path, content }));
}

export function makeTgz(list: readonly TestMember[]): Uint8Array {
  return gzipSync(makeTar(list));
}

export function makeTar(list: readonly TestMember[]): Buffer {
  const blocks = list.flatMap((member) => {
    const content = Buffer.from(member.kind === 'link' ? '' : (member.content ?? ''));
    const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
    return [tarHeader(member, content.length), content, padding];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

const tarTypes = { file: '0', folder: '5', link: '2' } as const;

function tarHeader({ path, kind = 'file', target = '' }: TestMember, size: number): Buffer {
  const header = Buffer.alloc(512);
  header.write(path, 0, 100);
  header.write('0000644\0', 100);
  header.write('0000000\0'.repeat(2), 108);
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  header.write(`${'0'.repeat(11)}\0`, 136);
  header.write(' '.repeat(8), 148);
  header.write(tarTypes[kind], 156);
  header.write(target, 157, 100);
  header.write('ustar\x0000', 257, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

const zipModes = { file: 0o100644, folder: 0o040755, link: 0o120777 } as const;

export function makeZip(list: readonly TestMember[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const member of list) {
    const { path, kind = 'file' } = member;
    const content = Buffer.from((kind === 'link' ? member.target : member.content) ?? '');
    const packed = deflateRawSync(content);
    const name = Buffer.from(path);
    const sizes = { packed: packed.length, full: member.claims ?? content.length, name: name.length };
    const local = Buffer.concat([localHeader(sizes), name, packed]);
    directory.push(Buffer.concat([directoryHeader(sizes, zipModes[kind], offset), name]));
    locals.push(local);
    offset += local.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(list.length, 8);
  end.writeUInt16LE(list.length, 10);
  end.writeUInt32LE(entries.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, entries, end]);
}

interface ZipSizes {
  readonly packed: number;
  readonly full: number;
  readonly name: number;
}

function localHeader({ packed, full, name }: ZipSizes): Buffer {
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(0x0800, 6);
  header.writeUInt16LE(8, 8);
  header.writeUInt32LE(packed, 18);
  header.writeUInt32LE(full, 22);
  header.writeUInt16LE(name, 26);
  return header;
}

function directoryHeader({ packed, full, name }: ZipSizes, mode: number, offset: number): Buffer {
  const header = Buffer.alloc(46);
  header.writeUInt32LE(0x02014b50, 0);
  // Made on Unix: the attributes hold the kind of file.
  header.writeUInt16LE(0x0314, 4);
  header.writeUInt16LE(20, 6);
  header.writeUInt16LE(0x0800, 8);
  header.writeUInt16LE(8, 10);
  header.writeUInt32LE(packed, 20);
  header.writeUInt32LE(full, 24);
  header.writeUInt16LE(name, 28);
  header.writeUInt32LE((mode << 16) >>> 0, 38);
  header.writeUInt32LE(offset, 42);
  return header;
}
