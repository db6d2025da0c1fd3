import type * as Kafka from '@platformatic/kafka';
import { isIP, type Socket } from 'node:net';
import type { Connection, ResponseParser, Writer } from '@platformatic/kafka';
import type { KafkaAccess, KafkaBroker } from './access.ts';

/** One version of a request in the client library. */
export interface RequestForm<Request, Response> {
  readonly version: number;
  readonly request: Request;
  readonly parse: ResponseParser<Response>;
  /** Whether the version's headers allow unknown fields. */
  readonly flexible: boolean;
}

/** A connection to one broker, with the versions it supports. */
export interface KafkaConnection {
  /** Returns the first of the forms, newest first, that the broker supports. @throws KafkaVersionError if it supports no form */
  agree<Form extends { readonly version: number }>(apiKey: number, forms: readonly Form[]): Form;
  /** Sends a request. Throws what the client library throws. */
  ask<Response>(
    apiKey: number,
    form: Omit<RequestForm<unknown, Response>, 'request'>,
    payload: () => Writer,
  ): Promise<Response>;
}

/** A broker does not support a request in any version supported here. */
export class KafkaVersionError extends Error {
  override name = 'KafkaVersionError';
}

/** Connections to brokers, each opened when first needed and reopened after it has ended. */
export interface KafkaConnections {
  /** Throws what the client library or `resolve` throws, or the signal's reason. */
  to(broker: KafkaBroker): Promise<KafkaConnection>;
  close(): Promise<void>;
}

export interface ConnectionsDeps {
  /** Appears in the brokers' logs. */
  readonly clientId: string;
  readonly access: KafkaAccess;
  /** Returns the address to connect to. */
  readonly resolve: (host: string, port: number) => Promise<string>;
  /** Closes all when aborted. */
  readonly signal: AbortSignal;
  readonly connectTimeoutMs?: number;
  readonly requestTimeoutMs?: number;
}

const connectTimeoutMsDefault = 10_000;
const requestTimeoutMsDefault = 60_000;

export function createKafkaConnections(deps: ConnectionsDeps): KafkaConnections {
  const { signal } = deps;
  const made = new Map<string, Promise<KafkaConnection>>();
  const opened = new Set<Connection>();
  const close = async (): Promise<void> => {
    signal.removeEventListener('abort', closeNow);
    await Promise.all([...opened].map((connection) => connection.close()));
  };
  const closeNow = (): void => void close();
  signal.addEventListener('abort', closeNow);
  return {
    close,
    to: (broker) => {
      const name = `${broker.host}:${broker.port}`;
      const known = made.get(name);
      if (known !== undefined) return known;
      const connecting = connect(deps, broker, {
        opened: (connection) => opened.add(connection),
        ended: (connection) => {
          opened.delete(connection);
          // The library's timer of the next login would run on.
          void connection.close();
          if (made.get(name) === connecting) made.delete(name);
        },
      });
      made.set(name, connecting);
      return connecting;
    },
  };
}

interface ConnectionEvents {
  /** Called before a connection is opened. */
  readonly opened: (connection: Connection) => void;
  readonly ended: (connection: Connection) => void;
}

async function connect(deps: ConnectionsDeps, broker: KafkaBroker, events: ConnectionEvents): Promise<KafkaConnection> {
  const { host, port } = broker;
  const { access, resolve, signal } = deps;
  const { Connection: KafkaSocket, apiVersionsV1, clientSoftwareName, clientSoftwareVersion } = await kafkaLibrary();
  const connection = new KafkaSocket(deps.clientId, {
    connectTimeout: deps.connectTimeoutMs ?? connectTimeoutMsDefault,
    requestTimeout: deps.requestTimeoutMs ?? requestTimeoutMsDefault,
    ...(access.tls && { tls: access.tls, ...(isIP(host) === 0 && { tlsServerName: host }) }),
    ...(access.sasl && { sasl: access.sasl }),
  });
  events.opened(connection);
  const ended = (): void => events.ended(connection);
  let fault: Error | undefined;
  // An error between two requests makes the next one fail, or it gets a new connection.
  connection.on('error', (error) => {
    fault ??= error;
    ended();
  });
  connection.on('close', ended);
  try {
    signal.throwIfAborted();
    const address = await resolve(host, port);
    signal.throwIfAborted();
    await connection.connect(address, port);
    guardFrames(connection.socket);
    const { apiKeys } = await apiVersionsV1.api.async(connection, clientSoftwareName, String(clientSoftwareVersion));
    return connected(
      connection,
      { versions: new Map(apiKeys.map((each) => [each.apiKey, each])), faultOf: () => fault },
      broker,
    );
  } catch (error) {
    ended();
    void connection.close();
    throw error;
  }
}

/** Loads the client library on first use. */
export async function kafkaLibrary(): Promise<typeof Kafka> {
  return await import('@platformatic/kafka');
}

/** A broker sent an invalid response. */
export class KafkaFrameError extends Error {
  override name = 'KafkaFrameError';
  readonly code = 'KAFKA_FRAME';
}

const sizeBytes = 4;
/** Size of the correlation id. */
const answerBytesMin = 4;

/**
 * Closes a connection that receives a response smaller than its minimum size. The client library would read beyond its buffer and
 * throw where nothing can catch it, which would end the process.
 */
function guardFrames(socket: Socket): void {
  const listeners = socket.listeners('data') as ((chunk: Buffer) => void)[];
  socket.removeAllListeners('data');
  const head = Buffer.alloc(sizeBytes);
  let headBytes = 0;
  let left = 0;
  socket.on('data', (chunk: Buffer) => {
    for (let at = 0; at < chunk.length;) {
      if (left > 0) {
        const passed = Math.min(left, chunk.length - at);
        left -= passed;
        at += passed;
        continue;
      }
      head.writeUInt8(chunk.readUInt8(at), headBytes);
      headBytes += 1;
      at += 1;
      if (headBytes < sizeBytes) continue;
      headBytes = 0;
      left = head.readInt32BE(0);
      if (left >= answerBytesMin) continue;
      socket.destroy(new KafkaFrameError(`expected an answer of at least ${answerBytesMin} bytes, got ${left}`));
      return;
    }
    for (const listener of listeners) listener(chunk);
  });
}

interface Known {
  readonly versions: ReadonlyMap<number, Versions>;
  /** Returns what ended the connection; an interrupted request only reports that it is closed. */
  readonly faultOf: () => Error | undefined;
}

interface Versions {
  readonly minVersion: number;
  readonly maxVersion: number;
}

/**
 * Waits while the client library logs in again, which it does before a session ends: until then the broker would refuse the request and
 * close the connection. What was sent before is answered first.
 */
async function loggedIn(connection: Connection, faultOf: Known['faultOf']): Promise<void> {
  if (connection.status !== 'reauthenticating') return;
  try {
    await connection.ready();
  } catch (error) {
    throw faultOf() ?? error;
  }
}

function connected(connection: Connection, { versions, faultOf }: Known, { host, port }: KafkaBroker): KafkaConnection {
  return {
    agree: (apiKey, forms) => {
      const { minVersion, maxVersion } = versions.get(apiKey) ?? { minVersion: 0, maxVersion: -1 };
      const found = forms.find(({ version }) => version >= minVersion && version <= maxVersion);
      if (found !== undefined) return found;
      throw new KafkaVersionError(
        `expected the broker at ${host}:${port} to support request ${apiKey} in version ${forms.map(({ version }) => version).join(' or ')}, ` +
          `got one that supports the versions ${minVersion} to ${maxVersion} only: use a newer Kafka`,
      );
    },
    ask: async (apiKey, { version, parse, flexible }, payload) => {
      await loggedIn(connection, faultOf);
      return await new Promise((resolve, reject) => {
        connection.send(apiKey, version, payload, parse, flexible, flexible, (error, response) => {
          if (error !== null || response === undefined)
            reject(faultOf() ?? error ?? new Error('expected a response, got none'));
          else resolve(response);
        });
      });
    },
  };
}
