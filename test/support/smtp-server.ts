import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

export interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  /** Header and body as they came, with \n. */
  readonly text: string;
}

export interface SmtpServer extends AsyncDisposable {
  readonly port: number;
  readonly mails: readonly Mail[];
}

/** A mail server on loopback that keeps what it gets. `refuse`: the answer to a recipient; undefined: it is taken. */
export async function smtpServer(refuse: (recipient: string) => string | undefined = () => undefined) {
  const mails: Mail[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    talk(socket, mails, refuse);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const made: SmtpServer = {
    // Sound: a server that listens on a port has an AddressInfo.
    port: (server.address() as AddressInfo).port,
    mails,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return made;
}

function talk(socket: Socket, mails: Mail[], refuse: (recipient: string) => string | undefined): void {
  const say = (line: string): void => void socket.write(`${line}\r\n`);
  let [from, to]: [string, string[]] = ['', []];
  let data: string[] | undefined;
  let rest = '';
  const addressIn = (line: string): string => /<([^>]*)>/.exec(line)?.[1] ?? '';
  const take = (line: string): void => {
    if (data !== undefined) {
      if (line !== '.') return void data.push(line.replace(/^\.\./, '.'));
      mails.push({ from, to, text: data.join('\n') });
      [from, to, data] = ['', [], undefined];
      return say('250 taken');
    }
    const verb = line.slice(0, 4).toUpperCase();
    if (verb === 'EHLO' || verb === 'HELO') return say('250 test');
    if (verb === 'MAIL') from = addressIn(line);
    if (verb === 'RCPT') {
      const refusal = refuse(addressIn(line));
      if (refusal !== undefined) return say(refusal);
      to.push(addressIn(line));
    }
    if (verb === 'DATA') {
      data = [];
      return say('354 continue');
    }
    if (verb === 'QUIT') {
      say('221 bye');
      return void socket.end();
    }
    say('250 ok');
  };
  socket.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\r\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
  });
  say('220 test');
}
