/** What PgBouncer does with `pool_mode = transaction`, by one connection to the server for all clients, without passwords. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface TransactionPooler extends AsyncDisposable {
  /** The address of the server, with the pooler's port. */
  readonly url: string;
}

const headBytes = 5;
const idle = 'I'.charCodeAt(0);
const readyForQuery = 'Z'.charCodeAt(0);
const terminate = 'X'.charCodeAt(0);

export async function startTransactionPooler(serverUrl: string): Promise<TransactionPooler> {
  const { hostname, port, username, pathname } = new URL(serverUrl);
  const server = connect(Number(port), hostname);
  await once(server, 'connect');
  server.write(startup({ user: username, database: pathname.slice(1) }));
  const sockets = new Set<Socket>();
  /** Clients with what they have sent and not had their turn for. */
  const waiting: (readonly [client: Socket, request: Buffer])[] = [];
  let holder: Socket | undefined;
  let isReady = false;
  const next = (): void => {
    const [first] = waiting;
    if (!isReady || first === undefined) return;
    [holder] = first;
    isReady = false;
    for (let at = 0; at < waiting.length;) {
      const [client, request] = waiting[at] ?? first;
      if (client !== holder) at += 1;
      else {
        server.write(request);
        waiting.splice(at, 1);
      }
    }
  };
  let answer = Buffer.alloc(0);
  server.on('data', (chunk: Buffer) => {
    answer = Buffer.concat([answer, chunk]);
    for (let end = messageEnd(answer); end !== undefined; end = messageEnd(answer)) {
      const message = answer.subarray(0, end);
      answer = answer.subarray(end);
      holder?.write(message);
      // Between transactions, the connection is anyone's.
      if (message.readUInt8(0) !== readyForQuery || message.at(-1) !== idle) continue;
      holder = undefined;
      isReady = true;
      next();
    }
  });
  const pooler = createServer((client) => {
    sockets.add(client);
    client.on('error', () => client.destroy());
    client.once('data', () => {
      client.write(greeting());
      client.on('data', (request) => {
        if (request.readUInt8(0) === terminate) return;
        if (client === holder) server.write(request);
        else {
          waiting.push([client, request]);
          next();
        }
      });
    });
  });
  pooler.listen(0, '127.0.0.1');
  await once(pooler, 'listening');
  return {
    url: Object.assign(new URL(serverUrl), { port: String((pooler.address() as AddressInfo).port) }).href,
    [Symbol.asyncDispose]: async () => {
      for (const socket of [...sockets, server]) socket.destroy();
      await new Promise((done) => pooler.close(done));
    },
  };
}

/** Where the first message ends; undefined until it is complete. */
function messageEnd(bytes: Buffer): number | undefined {
  const end = bytes.length < headBytes ? Infinity : 1 + bytes.readInt32BE(1);
  return end > bytes.length ? undefined : end;
}

function startup(values: Readonly<Record<string, string>>): Buffer {
  const text = Object.entries(values).flatMap(([name, value]) => [name, value]);
  const body = Buffer.concat([int32(196_608), Buffer.from(`${text.join('\0')}\0\0`)]);
  return Buffer.concat([int32(body.length + 4), body]);
}

/** No password, a made-up process, ready. */
function greeting(): Buffer {
  const message = (kind: string, body: Buffer): Buffer =>
    Buffer.concat([Buffer.from(kind), int32(body.length + 4), body]);
  return Buffer.concat([
    message('R', int32(0)),
    message('K', Buffer.concat([int32(1), int32(2)])),
    message('Z', Buffer.from('I')),
  ]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
