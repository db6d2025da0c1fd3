import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Log } from '../telemetry/log.ts';

/** What is not answered by then is cut off: its sender has no answer and tries again. Leaves time to store what was taken. */
const drainMsMax = 5_000;
const sweepMs = 50;

/**
 * Makes `app.close()` end soon. Node closes the connections that are idle when the close begins; but those that go idle
 * later, and those that never sent a byte, would keep the server for as long as their clients like.
 */
export function drainOnClose(app: FastifyInstance, log: Log): void {
  const sockets = new Set<Socket>();
  app.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  let isClosing = false;
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (isClosing) void reply.header('connection', 'close');
    done(null, payload);
  });
  app.addHook('preClose', (done) => {
    isClosing = true;
    const { server } = app;
    const sweep = setInterval(() => {
      server.closeIdleConnections();
      // To Node, a connection that is silent from the start is not idle but a request that is late.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    }, sweepMs);
    const deadline = setTimeout(() => {
      log.warn({ connections: sockets.size }, 'stopping: requests that did not end in time are cut off');
      server.closeAllConnections();
    }, drainMsMax);
    server.once('close', () => {
      clearInterval(sweep);
      clearTimeout(deadline);
    });
    done();
  });
}
