import type { Draw } from '../../../test/support/draw.ts';
import { oddEvents } from './capture-requests.ts';
import { asDocumented } from './api-requests.ts';
import { damaged } from './unusual-json.ts';
import type { Ending, FuzzRequest, RequestMaker, World } from './request.ts';

/** Invalid HTTP: each on a separate connection, because its end is undefined. */

/** Truncated anywhere: the client ends its side, waits silently, or disconnects. */
export const cutOff: RequestMaker = (draw, world) => {
  const { bytes, method } = usual(draw, world);
  // Silence costs seconds until the service has had enough of it.
  const ending: Ending = draw.chance(0.02) ? 'silent' : draw.pick(['closed', 'gone']);
  return { kind: `wire, cut off, ${ending}`, method, bytes: bytes.subarray(0, draw.int(bytes.length)), ending };
};

/** Bytes changed anywhere, in the head above all. */
export const damagedWire: RequestMaker = (draw, world) => {
  const { bytes, method } = usual(draw, world);
  const headEnd = bytes.indexOf('\r\n\r\n') + 4;
  const changed = draw.chance(0.7)
    ? Buffer.concat([damaged(draw, bytes.subarray(0, headEnd)), bytes.subarray(headEnd)])
    : damaged(draw, bytes);
  return { kind: 'wire, damaged', method, bytes: changed, ending: 'closed' };
};

const lies = [
  'Content-Length: 5\r\nContent-Length: 7',
  'Content-Length: 3\r\nTransfer-Encoding: chunked',
  'Content-Length: -1',
  'Content-Length: 99999999999999999999',
  'Content-Length: 999999',
  'Content-Length: 2',
  'Content-Length: 0x10',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: gzip',
  'Expect: 100-continue\r\nContent-Length: 20',
  'Expect: x\r\nContent-Length: 20',
  'Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 20',
  'Connection: close\r\nContent-Length: 20',
  'Host: other.example\r\nContent-Length: 20',
  'X-A: 1\r\n folded\r\nContent-Length: 20',
  ': empty\r\nContent-Length: 20',
];

/** Wrong lengths, invalid chunks, nonsense heads. */
export const lyingHeads: RequestMaker = (draw, world) => {
  const target = draw.pick(['/batch/', '/e/', '/api/projects', '/i/v1/analytics/events', '/livez']);
  const body = draw.pick([
    '{"api_key":"x","a":1}',
    'ffffffffff\r\nabc',
    '5\r\nabcde\r\n0\r\n\r\n',
    '5;x=y\r\nabcde\r\n',
    '',
    '\0\0\0',
  ]);
  const text = draw.pick([
    () => `POST ${target} HTTP/1.1\r\nHost: ${world.host}\r\n${draw.pick(lies)}\r\n\r\n${body}`,
    () => `POST ${target} HTTP/1.1\r\n${draw.pick(lies)}\r\n\r\n${body}`,
    () => `POST ${target} HTTP/${draw.pick(['0.9', '1.0', '2.0', '1.10', 'x'])}\r\nHost: ${world.host}\r\n\r\n${body}`,
    () => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${body}`,
    () => `${draw.pick(['GET', 'get', 'G\0ET', 'ÜBER', ''])} ${target}\x7f HTTP/1.1\r\n\r\n`,
    () => `GET ${target} HTTP/1.1\r\nHost: ${world.host}\r\nX: ${'x'.repeat(draw.pick([100, 20_000, 70_000]))}\r\n\r\n`,
    () => `GET ${target} HTTP/1.1\r\nHost: ${world.host}\r\n${'a: b\r\n'.repeat(draw.pick([100, 3000]))}\r\n`,
    () => `\x16\x03\x01\x02\x00\x01\x00${draw.hex(80)}`,
    () => `\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: ${world.host}\r\n\r\n`,
  ])();
  return { kind: 'wire, lying heads', method: 'POST', bytes: Buffer.from(text, 'latin1'), ending: 'closed' };
};

function usual(draw: Draw, world: World): FuzzRequest {
  return draw.chance(0.7) ? oddEvents(draw, world) : asDocumented(draw, world);
}
