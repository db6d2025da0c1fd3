import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { PGlite } from '@electric-sql/pglite';

export interface PostgresServer extends AsyncDisposable {
  readonly port: number;
  readonly db: PGlite;
  /** Connections are cut after so many more bytes of answers. */
  bytesLeft: number;
}

const sslRequest = 80_877_103;
const terminate = 0x58;
const startupHeadBytes = 8;
const authenticationOk = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]);
const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** PostgreSQL in this process behind its wire protocol, one connection at a time; every password is right. */
export async function startPostgresServer(): Promise<PostgresServer> {
  const db = new PGlite();
  await db.waitReady;
  const state = { db, bytesLeft: Infinity };
  let turn: Promise<void> = Promise.resolve();
  const server = createServer((socket) => {
    // The engine has one session: the next connection is served when the one before has ended.
    turn = turn.then(() => serve(socket, state)).catch(() => void socket.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  // Sound: a server that listens on a port has such an address.
  const { port } = server.address() as AddressInfo;
  return Object.assign(state, {
    port,
    [Symbol.asyncDispose]: async () => {
      await new Promise<void>((resolve) => void server.close(() => resolve()));
      await db.close();
    },
  });
}

async function serve(socket: Socket, state: { readonly db: PGlite; bytesLeft: number }): Promise<void> {
  let pending: Buffer = Buffer.alloc(0);
  let started = false;
  try {
    for await (const chunk of socket) {
      pending = Buffer.concat([pending, Buffer.from(chunk as Uint8Array)]);
      const messages: Buffer[] = [];
      for (let message = takeMessage(started); message !== undefined; message = takeMessage(started)) {
        if (started) messages.push(message);
        else started = await start(socket, message, state.db);
      }
      if (messages.length > 0) await answer(socket, messages, state);
    }
  } finally {
    await state.db.exec('rollback');
  }

  function takeMessage(typed: boolean): Buffer | undefined {
    const offset = typed ? 1 : 0;
    if (pending.length < offset + 4) return undefined;
    const length = offset + pending.readInt32BE(offset);
    if (pending.length < length) return undefined;
    const message = pending.subarray(0, length);
    pending = pending.subarray(length);
    return message;
  }
}

/** Settings of the session that the client asks for are made by hand: the engine is started already. */
async function start(socket: Socket, message: Buffer, db: PGlite): Promise<boolean> {
  if (message.readInt32BE(4) === sslRequest) {
    socket.write('N');
    return false;
  }
  const words = message.subarray(startupHeadBytes).toString('utf8').split('\0');
  const options = words[words.indexOf('options') + 1] ?? '';
  for (const [, name, value] of options.matchAll(/-c (\w+)=(\S+)/g)) await db.exec(`set ${name} = '${value}'`);
  socket.write(Buffer.concat([authenticationOk, ready]));
  return true;
}

async function answer(
  socket: Socket,
  messages: readonly Buffer[],
  state: { readonly db: PGlite; bytesLeft: number },
): Promise<void> {
  if (messages[0]?.[0] === terminate) return void socket.end();
  const bytes = Buffer.from(await state.db.execProtocolRaw(Buffer.concat(messages), { syncToFs: false }));
  state.bytesLeft -= bytes.length;
  if (state.bytesLeft < 0) socket.destroy();
  else socket.write(bytes);
}
