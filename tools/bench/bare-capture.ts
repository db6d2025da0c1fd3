/** Baseline of (a): the least that any capture endpoint in Node must do. Gunzips, parses, stores nothing. */
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';

const server = createServer((incoming, answer) => {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('end', () => {
    const parsed = JSON.parse(gunzipSync(Buffer.concat(chunks)).toString()) as { batch?: unknown[] };
    answer.writeHead(parsed.batch ? 200 : 400, { 'content-type': 'application/json' });
    answer.end('{"status":"Ok"}');
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address && typeof address === 'object') process.send?.({ url: `http://127.0.0.1:${address.port}/batch/` });
});
process.on('SIGTERM', () => server.close(() => process.disconnect()));
