/** Baseline of (c): a bare Fastify route that returns the bytes it is given. */
import type { AddressInfo } from 'node:net';
import { fastify } from 'fastify';

const [payload = '{}'] = process.argv.slice(2);
const app = fastify();
app.get('/', async (_request, reply) => reply.type('application/json; charset=utf-8').send(payload));
await app.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/` });
process.on('SIGTERM', () => void app.close().then(() => process.disconnect()));
