import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { PGlite } from '@electric-sql/pglite';

export interface TestPostgres extends AsyncDisposable {
  readonly port: number;
  /** Connections that are open. */
  readonly connections: () => number;
}

const startupBytes = 4;
const authenticationOk = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]);
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
const sslRequest = 80_877_103;

/** A real PostgreSQL (in this process) behind a real socket; takes any user and password, one statement at a time. */
export async function testPostgres(): Promise<TestPostgres> {
  const database = await PGlite.create();
  const sockets = new Set<Socket>();
  let last: Promise<unknown> = Promise.resolve();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    let greeted = false;
    let leased = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      leased = Buffer.concat([leased, chunk]);
      for (let message = take(greeted); message !== undefined; message = take(greeted)) {
        if (!greeted) greeted = greet(socket, message);
        else answer(socket, message);
      }
    });
    /** The next whole message; those before the greeting have no type. */
    function take(typed: boolean): Buffer | undefined {
      const at = typed ? 1 : 0;
      if (leased.length < at + startupBytes) return undefined;
      const length = at + leased.readUInt32BE(at);
      if (leased.length < length) return undefined;
      const message = leased.subarray(0, length);
      leased = leased.subarray(length);
      return message;
    }
  });
  function answer(socket: Socket, message: Buffer): void {
    if (message[0] === 'X'.charCodeAt(0)) {
      socket.end();
      return;
    }
    const before = last;
    last = (async () => {
      await before;
      socket.write(await database.execProtocolRaw(message));
    })();
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await last;
      await database.close();
    },
  };
}

/** True once the client may ask. TLS is declined, as by a server that has none. */
function greet(socket: Socket, message: Buffer): boolean {
  if (message.readUInt32BE(4) === sslRequest) {
    socket.write('N');
    return false;
  }
  socket.write(Buffer.concat([authenticationOk, readyForQuery]));
  return true;
}
