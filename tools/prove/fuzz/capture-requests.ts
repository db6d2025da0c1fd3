import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import type { Draw } from '../../../test/support/draw.ts';
import { capturePaths, captureV1Path } from '../../../src/wire/contract/capture.ts';
import { messageTypes, segmentBatchPaths, segmentMessagePaths } from '../../../src/wire/contract/segment.ts';
import { damaged, hostileJson, unusualJson } from './unusual-json.ts';
import { wholeRequest, type FuzzRequest, type Headers, type RequestMaker, type World } from './request.ts';

const names = [
  '$pageview',
  '$identify',
  '$create_alias',
  '$merge_dangerously',
  '$groupidentify',
  '$set',
  'plain',
  '$ai_generation',
  ' ',
];
const wireTypes = [
  'application/json',
  'text/plain',
  'application/octet-stream',
  'application/x-www-form-urlencoded',
  'application/json; charset=utf-8',
];
const lightGzip = { level: 1 };
const lightBrotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

/** A good event among all the others, in one of the usual forms. It has to be taken, and to be stored once. */
export const goodEvent: RequestMaker = (draw, world) => {
  const uuid = draw.uuid();
  const event = { event: 'good', distinct_id: `p${draw.int(200)}`, uuid, properties: { n: draw.int(1000) } };
  const json = Buffer.from(JSON.stringify({ api_key: world.witnessToken, batch: [event] }));
  const gzipped = draw.chance(0.4);
  return wholeRequest(world, {
    kind: 'good events',
    method: 'POST',
    target: draw.pick(['/batch/', '/batch', '/e/', '/i/v0/e/', '/capture/', '/track/']),
    headers: [['Content-Type', 'application/json'], ...(gzipped ? [['Content-Encoding', 'gzip'] as const] : [])],
    body: gzipped ? gzipSync(json, lightGzip) : json,
    chunkBytes: draw.chance(0.1) ? 1 + draw.int(200) : undefined,
    statuses: new Set([200]),
    witness: uuid,
  });
};

/** Events with unusual values, in every form and compression that client libraries send. */
export const oddEvents: RequestMaker = (draw, world) => sent(draw, world, 'capture', Buffer.from(bodyOf(draw, world)));

/** The same, damaged before or after it was packed. */
export const damagedBodies: RequestMaker = (draw, world) => {
  const json = Buffer.from(bodyOf(draw, world));
  if (draw.chance(0.5)) return sent(draw, world, 'capture, damaged bodies', damaged(draw, json));
  const { bytes, encoding } = packed(draw, json);
  return sent(draw, world, 'capture, damaged bodies', damaged(draw, bytes), encoding);
};

/** Too deep, too wide, too large, no JSON: alone, as a property, as an event, as a batch. */
export const hostileBodies: RequestMaker = (draw, world) => {
  const hostile = hostileJson(draw);
  const event = `{"event":"e","distinct_id":"d","properties":{"a":${hostile}}}`;
  const token = JSON.stringify(world.targetToken);
  const good = '{"event":"beside","distinct_id":"d"}';
  const json = draw.pick([
    hostile,
    `{"api_key":${token},"batch":${hostile}}`,
    `{"api_key":${token},"batch":[${good},${hostile},${good}]}`,
    `{"api_key":${token},"batch":[${good},${event}]}`,
    `{"api_key":${hostile},"batch":[${good}]}`,
    `{"api_key":${token},${event.slice(1)}`,
  ]);
  return sent(draw, world, 'capture, hostile bodies', Buffer.from(json));
};

/** What packs to a thousandth of itself, packs of packs, and lengths that lie. */
export const bombs: RequestMaker = (draw, world) => {
  const inner = gzipSync(Buffer.alloc(draw.pick([100_000, 3_000_000]), ' '), lightGzip);
  const bytes = draw.pick([
    () => inner,
    () => gzipSync(inner, lightGzip),
    () => Buffer.concat([inner, inner, inner]),
    () => Buffer.concat([inner, Buffer.alloc(9)]),
    () => inner.subarray(0, -5),
    () => Buffer.concat([inner.subarray(0, -4), Buffer.from([255, 255, 255, 255])]),
    () => brotliCompressSync(Buffer.alloc(3_000_000, ' '), lightBrotli),
  ])();
  return sent(draw, world, 'capture, bombs', bytes, draw.pick(['gzip', '', 'br', 'deflate']));
};

/** Messages of the Segment protocol with unusual values, alone and in batches. */
export const segmentMessages: RequestMaker = (draw, world) => {
  const token = JSON.stringify(world.targetToken);
  const json = Buffer.from(
    draw.pick([
      () =>
        `{"writeKey":${token},"batch":[${Array.from({ length: 1 + draw.int(4) }, () => messageOf(draw)).join(',')}]}`,
      () => `{"writeKey":${token},${messageOf(draw).slice(1)}`,
      () => `{"writeKey":${token},"context":${unusualJson(draw, 2)},"batch":[${messageOf(draw)},${hostileJson(draw)}]}`,
      () => `{"writeKey":${unusualJson(draw, 1)},"batch":${unusualJson(draw, 2)}}`,
    ])(),
  );
  const { bytes, encoding } = packed(draw, draw.chance(0.1) ? damaged(draw, json) : json);
  const path = draw.chance(0.5) ? draw.pick(segmentBatchPaths) : draw.pick(Object.keys(segmentMessagePaths));
  return wholeRequest(world, {
    kind: 'capture, Segment protocol',
    method: 'POST',
    target: path + draw.pick(['', '/']),
    headers: [
      ['Content-Type', draw.pick(wireTypes)],
      ...(encoding === '' ? [] : [['Content-Encoding', encoding] as const]),
    ],
    body: bytes,
  });
};

function messageOf(draw: Draw): string {
  const members = [`"type":${draw.chance(0.9) ? JSON.stringify(draw.pick(messageTypes)) : unusualJson(draw, 1)}`];
  const add = (share: number, name: string, value: () => string): void => {
    if (draw.chance(share)) members.push(`"${name}":${value()}`);
  };
  add(0.8, 'event', () => nameOf(draw));
  add(0.8, 'userId', () => idOf(draw));
  add(0.4, 'anonymousId', () => idOf(draw));
  add(0.8, 'messageId', () => (draw.chance(0.9) ? `"${draw.uuid()}"` : unusualJson(draw, 1)));
  add(0.6, 'timestamp', () => (draw.chance(0.8) ? timeOf(draw) : unusualJson(draw, 1)));
  add(0.3, 'sentAt', () => (draw.chance(0.8) ? timeOf(draw) : unusualJson(draw, 1)));
  add(0.5, 'properties', () => propertiesOf(draw));
  add(0.3, 'traits', () => propertiesOf(draw));
  add(0.3, 'context', () => unusualJson(draw, 3));
  add(0.2, 'groupId', () => idOf(draw));
  add(0.2, 'previousId', () => idOf(draw));
  return `{${members.join(',')}}`;
}

/** Headers and queries that say something else than the body, or nothing that there is. */
export const oddHeaders: RequestMaker = (draw, world) => {
  const { bytes, encoding } = packed(draw, Buffer.from(bodyOf(draw, world)));
  const unusual = [
    '',
    'x',
    'gzip, gzip',
    'identity;q=0',
    '\xe9',
    'x'.repeat(4000),
    '"',
    ',',
    'gzip\t',
    '0x10',
    '-1',
    '1e9',
  ];
  const headers: Headers = Array.from({ length: 1 + draw.int(4) }, () => [
    draw.pick([
      'Content-Encoding',
      'Content-Type',
      'Prefer',
      'Origin',
      'Accept',
      'User-Agent',
      'X-Forwarded-For',
      'X-Request-Id',
      'Cookie',
      'Authorization',
      'If-Match',
      'Accept-Encoding',
      'Access-Control-Request-Headers',
    ]),
    draw.chance(0.4) ? encoding : draw.pick(unusual),
  ]);
  const query = draw.pick([
    '',
    '?',
    '?compression=gzip',
    '?compression=x',
    '?ip=1&_=1e99',
    '?data=',
    '?beacon=1',
    '?data=%',
    '?sent_at=x',
    '?compression=lz64&data=N4',
  ]);
  const method = draw.pick(['POST', 'POST', 'GET', 'OPTIONS', 'HEAD', 'PUT']);
  const target = pathOf(draw) + query;
  return wholeRequest(world, {
    kind: 'capture, unusual headers',
    method,
    target,
    headers,
    body: method === 'HEAD' ? undefined : bytes,
  });
};

/** The newer endpoint, whose headers are required. */
export const v1Events: RequestMaker = (draw, world) => {
  const createdAt = draw.pick(['"2026-01-31T10:00:00Z"', '"2026-01-31T10:00:00+01:00"', '"x"', '1', 'null']);
  const uuid = draw.uuid();
  const events = Array.from({ length: draw.int(4) }, () => {
    const id = draw.chance(0.8) ? draw.uuid() : draw.pick([uuid, 'x', '']);
    return `{"event":${nameOf(draw)},"uuid":"${id}","distinct_id":${idOf(draw)},"timestamp":${createdAt},"properties":${propertiesOf(draw)}}`;
  });
  const json = Buffer.from(`{"created_at":${createdAt},"batch":[${events.join(',')}]}`);
  const body = draw.chance(0.15) ? damaged(draw, json) : json;
  const { bytes, encoding } = packed(draw, body);
  const good: Headers = [
    ['Authorization', `Bearer ${draw.chance(0.95) ? world.targetToken : 'phc_none'}`],
    ['Content-Type', 'application/json'],
    ['User-Agent', 'fuzz/1'],
    ['PostHog-Sdk-Info', draw.chance(0.95) ? 'fuzz/1.0' : 'x'],
    ['PostHog-Attempt', draw.chance(0.95) ? '1' : '0'],
    ['PostHog-Request-Id', draw.chance(0.95) ? uuid : 'x'],
    ['PostHog-Request-Timestamp', draw.chance(0.95) ? '2026-01-31T10:00:00Z' : 'x'],
  ];
  const headers = good.filter(() => !draw.chance(0.02));
  return wholeRequest(world, {
    kind: 'capture v1',
    method: 'POST',
    target: captureV1Path,
    headers: encoding === '' ? headers : [...headers, ['Content-Encoding', encoding]],
    body: bytes,
  });
};

function sent(draw: Draw, world: World, kind: string, json: Buffer, asEncoding?: string): FuzzRequest {
  const form = draw.int(asEncoding === undefined ? 10 : 6);
  const path = pathOf(draw);
  const chunkBytes = draw.chance(0.1) ? 1 + draw.int(4000) : undefined;
  const type: Headers = [['Content-Type', draw.pick(wireTypes)]];
  if (form < 6) {
    const { bytes, encoding } = asEncoding === undefined ? packed(draw, json) : { bytes: json, encoding: asEncoding };
    const headers: Headers = encoding === '' ? type : [...type, ['Content-Encoding', encoding]];
    return wholeRequest(world, { kind, method: 'POST', target: path, headers, body: bytes, chunkBytes });
  }
  const base64 = json.toString('base64');
  if (form === 6) {
    const query = `?compression=${draw.pick(['base64', 'gzip-js', 'lz64', ''])}`;
    return wholeRequest(world, {
      kind,
      method: 'POST',
      target: path + query,
      headers: type,
      body: Buffer.from(base64),
      chunkBytes,
    });
  }
  if (form === 7) {
    const body = Buffer.from(`data=${encodeURIComponent(base64)}&compression=base64&lib=x`);
    const headers: Headers = [['Content-Type', 'application/x-www-form-urlencoded']];
    return wholeRequest(world, { kind, method: 'POST', target: path, headers, body, chunkBytes });
  }
  // Longer addresses are refused before anybody looks at them.
  if (form === 8 && base64.length < 8000) {
    return wholeRequest(world, { kind, method: 'GET', target: `${path}?data=${encodeURIComponent(base64)}&_=1` });
  }
  return wholeRequest(world, { kind, method: 'POST', target: path, headers: type, body: json, chunkBytes });
}

function packed(draw: Draw, json: Buffer): { readonly bytes: Buffer; readonly encoding: string } {
  switch (draw.int(8)) {
    case 0:
    case 1:
      return { bytes: gzipSync(json, lightGzip), encoding: draw.pick(['gzip', 'gzip', '']) };
    case 2:
      return { bytes: deflateSync(json, lightGzip), encoding: 'deflate' };
    case 3:
      return { bytes: brotliCompressSync(json, lightBrotli), encoding: 'br' };
    default:
      return { bytes: json, encoding: '' };
  }
}

function pathOf(draw: Draw): string {
  const path = draw.chance(0.9) ? draw.pick(capturePaths) : captureV1Path;
  return path + draw.pick(['', '/']);
}

/** One event, an array of them, a batch, people as Mixpanel's ancestors sent them. */
function bodyOf(draw: Draw, world: World): string {
  const token = draw.chance(0.93) ? JSON.stringify(world.targetToken) : unusualJson(draw, 1);
  const events = Array.from({ length: 1 + draw.int(3) }, () => eventOf(draw));
  const history = draw.chance(0.1) ? ',"historical_migration":true' : '';
  const sentAt = draw.chance(0.2)
    ? `,"sent_at":${draw.chance(0.5) ? '"2026-01-31T10:00:00Z"' : unusualJson(draw, 1)}`
    : '';
  switch (draw.int(5)) {
    case 0:
      return `[${events.map((event) => `{"token":${token},${event.slice(1)}`).join(',')}]`;
    case 1:
      return `{"api_key":${token},${eventOf(draw).slice(1)}`;
    case 2:
      return `{"$token":${token},"$distinct_id":${idOf(draw)},"$set":${propertiesOf(draw)}}`;
    default:
      return `{"api_key":${token},"batch":[${events.join(',')}]${history}${sentAt}}`;
  }
}

function eventOf(draw: Draw): string {
  const members = [`"event":${nameOf(draw)}`, `"distinct_id":${idOf(draw)}`];
  if (draw.chance(0.7)) members.push(`"properties":${propertiesOf(draw)}`);
  if (draw.chance(0.4)) members.push(`"uuid":${draw.chance(0.8) ? `"${draw.uuid()}"` : unusualJson(draw, 1)}`);
  if (draw.chance(0.4)) members.push(`"timestamp":${draw.chance(0.6) ? timeOf(draw) : unusualJson(draw, 1)}`);
  if (draw.chance(0.1)) members.push(`"offset":${unusualJson(draw, 0)}`);
  if (draw.chance(0.1)) members.push(`"$set":${unusualJson(draw, 2)}`);
  if (draw.chance(0.04)) members.shift();
  return `{${members.join(',')}}`;
}

function timeOf(draw: Draw): string {
  const year = draw.pick([1970, 2021, 2026, 2026, 9999]);
  return `"${year}-0${1 + draw.int(9)}-${10 + draw.int(19)}T0${draw.int(10)}:30:00.${draw.int(1000)}${draw.pick(['Z', '+02:00', '+99:00', ''])}"`;
}

function nameOf(draw: Draw): string {
  return draw.chance(0.9) ? JSON.stringify(draw.pick(names)) : unusualJson(draw, 1);
}

function idOf(draw: Draw): string {
  return draw.chance(0.9) ? `"u${draw.int(500)}"` : unusualJson(draw, 1);
}

function propertiesOf(draw: Draw): string {
  const members = Array.from({ length: draw.int(5) }, (_, n) => `"p${n}":${unusualJson(draw, 3)}`);
  if (draw.chance(0.1)) members.push(`"$set":{"plan":${unusualJson(draw, 2)}}`);
  if (draw.chance(0.05)) members.push(`"$groups":{"company":${unusualJson(draw, 1)}}`);
  if (draw.chance(0.03)) members.push(`"alias":${idOf(draw)}`);
  return draw.chance(0.97) ? `{${members.join(',')}}` : unusualJson(draw, 2);
}
