import type { Draw } from '../../../test/support/draw.ts';
import type { Operation } from './operations.ts';

/** What generated requests are made for: one service, with three projects. */
export interface World {
  readonly host: string;
  /** A personal API key of everything. */
  readonly key: string;
  /** Only good events go there: what is stored of them is the oracle. */
  readonly witnessToken: string;
  /** Generated events go there. */
  readonly targetToken: string;
  readonly targetId: number;
  /** Generated calls of the management API are about this one. */
  readonly playgroundId: number;
  readonly pluginIds: readonly number[];
  readonly operations: readonly Operation[];
}

/**
 * How a request ends. `whole`: with a clear end, so that others follow on its connection; the others have a separate connection.
 * `closed`: the client ends its side. `silent`: it waits. `gone`: it disconnects without waiting for a response.
 */
export type Ending = 'whole' | 'closed' | 'silent' | 'gone';

export interface FuzzRequest {
  readonly kind: string;
  readonly method: string;
  readonly bytes: Buffer;
  readonly ending: Ending;
  /** Statuses that are documented for it; undefined: all but those of faults. */
  readonly statuses?: ReadonlySet<number>;
  /** The uuid of a good event, which has to be taken. */
  readonly witness?: string;
}

/** Makes one request; everything in it follows from the draw. */
export type RequestMaker = (draw: Draw, world: World) => FuzzRequest;

export type Headers = readonly (readonly [name: string, value: string])[];

export interface Written {
  readonly kind: string;
  readonly method: string;
  readonly target: string;
  readonly headers?: Headers;
  readonly body?: Buffer | undefined;
  /** Sends the body in chunks of this size, without Content-Length. */
  readonly chunkBytes?: number | undefined;
  readonly statuses?: ReadonlySet<number>;
  readonly witness?: string;
}

/** A request with a clear end. Header values are written as latin1, as Node reads them. */
export function wholeRequest(world: Pick<World, 'host'>, written: Written): FuzzRequest {
  const { method, target, headers = [], body, chunkBytes, kind, statuses, witness } = written;
  const length: Headers =
    body === undefined && !['POST', 'PUT', 'PATCH'].includes(method)
      ? []
      : chunkBytes === undefined
        ? [['Content-Length', String(body?.length ?? 0)]]
        : [['Transfer-Encoding', 'chunked']];
  const lines = [['Host', world.host] as const, ...headers, ...length].map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
  const sent = body === undefined ? [] : chunkBytes === undefined ? [body] : inChunks(body, chunkBytes);
  const bytes = Buffer.concat([head, ...sent]);
  return {
    kind,
    method,
    bytes,
    ending: 'whole',
    ...(statuses === undefined ? {} : { statuses }),
    ...(witness === undefined ? {} : { witness }),
  };
}

function inChunks(body: Buffer, bytes: number): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length; at += bytes) {
    const chunk = body.subarray(at, at + bytes);
    chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  return [...chunks, Buffer.from('0\r\n\r\n')];
}
