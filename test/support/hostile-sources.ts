/** Sources that are made to end, or to hold up, their reader. */
import { createServer, type AddressInfo, type Server } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deflateRawSync, gzipSync } from 'node:zlib';

/** The settings of an import app that reads it. */
export interface HostileSource {
  readonly app: string;
  readonly settings: Readonly<Record<string, string>>;
}

/** Parquet whose root claims 1e9 children. */
function parquetOfChildren(): Buffer {
  const children = varint(1_000_000_000n * 2n);
  // version 1; schema: [{name: "r", num_children: …}]; num_rows 0; row_groups []
  const schema = Buffer.concat([Buffer.from([0x48, 0x01, 0x72, 0x15]), children, Buffer.from([0x00])]);
  const meta = Buffer.concat([
    Buffer.from([0x15, 0x02, 0x19, 0x1c]),
    schema,
    Buffer.from([0x16, 0x00, 0x19, 0x0c, 0x00]),
  ]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(meta.length);
  return Buffer.concat([Buffer.from('PAR1'), meta, length, Buffer.from('PAR1')]);
}

/** Avro of one block that claims 4e9 records without content. */
function avroOfNothing(): Buffer {
  const sized = (text: string): Buffer => Buffer.concat([varint(BigInt(text.length) * 2n), Buffer.from(text)]);
  const sync = Buffer.alloc(16, 7);
  return Buffer.concat([
    Buffer.from('Obj\u0001'),
    varint(4n),
    sized('avro.schema'),
    sized('"null"'),
    sized('avro.codec'),
    sized('null'),
    Buffer.from([0]),
    sync,
    varint(8_000_000_000n),
    varint(0n),
    sync,
  ]);
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

/** A zip of one file of zeros without a line break, `bytes` large. */
function zipBomb(bytes: number): Buffer {
  const name = Buffer.from('a.jsonl');
  const packed = deflateRawSync(Buffer.alloc(bytes));
  const sizes = Buffer.alloc(12);
  sizes.writeUInt32LE(packed.length, 4);
  sizes.writeUInt32LE(bytes, 8);
  const about = Buffer.concat([Buffer.from([20, 0, 0, 0, 8, 0, 0, 0, 0, 0]), sizes, Buffer.from([7, 0, 0, 0])]);
  const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), about, name]);
  const central = Buffer.concat([Buffer.from('PK\u0001\u0002'), Buffer.from([20, 0]), about, Buffer.alloc(14), name]);
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 'latin1');
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length + packed.length, 16);
  return Buffer.concat([local, packed, central, end]);
}

/** Written into a directory that imports may read. */
export async function hostileFiles(dir: string): Promise<Readonly<Record<string, HostileSource>>> {
  const file = async (name: string, content: Buffer | string): Promise<HostileSource> => {
    await writeFile(join(dir, name), content);
    return { app: 'Files', settings: { paths: join(dir, name), format: 'amplitude' } };
  };
  const path = join(dir, 'a.sqlite');
  using database = new DatabaseSync(path);
  database.exec('create table t (a)');
  const query = (text: string): HostileSource => ({
    app: 'SQLite',
    settings: { path, query: text, format: 'mapping', format_options: mapping },
  });
  return {
    'Parquet that claims 1e9 columns': await file('a.parquet', parquetOfChildren()),
    'Avro that claims 4e9 records of nothing': await file('a.avro', avroOfNothing()),
    'CSV with 3,000 equal headers': await file('a.csv', `${Array(3000).fill('abc').join(',')}\n1\n`),
    'a zip bomb': await file('a.zip', zipBomb(256 * 1024 * 1024)),
    'gzip in gzip': await file('a.jsonl.gz', gzipSync(gzipSync(Buffer.alloc(64 * 1024 * 1024)))),
    'a query for a blob of 900 MB': query('select zeroblob(900000000) as event'),
    'a query without an end': query(
      'with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) as event from n',
    ),
  };
}

const mapping = JSON.stringify({
  mapping: JSON.stringify({ event: 'event', distinct_id: 'event', timestamp: { constant: '2024-05-01T00:00:00Z' } }),
});

export interface HostileBroker extends AsyncDisposable {
  readonly source: HostileSource;
}

/** To whatever it is asked it announces an answer of 2 GB, and sends it. */
export async function hostileBroker(): Promise<HostileBroker> {
  const zeros = Buffer.alloc(1024 * 1024);
  const server: Server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => {
      const size = Buffer.alloc(4);
      size.writeInt32BE(2 ** 31 - 1);
      socket.write(size);
      const send = (): void => {
        while (!socket.destroyed && socket.write(zeros));
        if (!socket.destroyed) socket.once('drain', send);
      };
      send();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const brokers = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    source: { app: 'Kafka', settings: { brokers, topic: 'events', format: 'amplitude' } },
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}
