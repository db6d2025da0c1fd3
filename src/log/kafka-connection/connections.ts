import type * as Kafka from '@platformatic/kafka';
import { isIP, type Socket } from 'node:net';
import type { Connection, ResponseParser, Writer } from '@platformatic/kafka';
import type { KafkaAccess, KafkaBroker } from './access.ts';

/** One version of a request as the client library has it. */
export interface RequestForm<Request, Response> {
  readonly version: number;
  readonly request: Request;
  readonly parse: ResponseParser<Response>;
  /** Since some version of each request the headers have room for fields that nobody knows yet. */
  readonly flexible: boolean;
}

/** A connection to one broker, and what it understands. */
export interface KafkaConnection {
  /** Of the forms, newest first, the first that the broker knows too. Throws KafkaVersionError: none. */
  agree<Form extends { readonly version: number }>(apiKey: number, forms: readonly Form[]): Form;
  /** Throws as the client library does. */
  ask<Response>(
    apiKey: number,
    form: Omit<RequestForm<unknown, Response>, 'request'>,
    payload: () => Writer,
  ): Promise<Response>;
}

/** A broker that does not know a request, or not in a version that is known here. */
export class KafkaVersionError extends Error {
  override name = 'KafkaVersionError';
}

/** Connections to brokers, each made when it is first needed, and again after it has ended. */
export interface KafkaConnections {
  /** Throws as the client library does, what `resolve` throws, or the signal's reason. */
  to(broker: KafkaBroker): Promise<KafkaConnection>;
  close(): Promise<void>;
}

export interface ConnectionsDeps {
  /** Shown in the logs of the brokers. */
  readonly clientId: string;
  readonly access: KafkaAccess;
  /** Gives the address to connect to. */
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
          if (made.get(name) === connecting) made.delete(name);
        },
      });
      made.set(name, connecting);
      return connecting;
    },
  };
}

interface ConnectionEvents {
  /** Before it is made. */
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
  // What happens between two requests; the next one fails by it, or has a connection of its own.
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

/** Loaded when it is first needed. */
export async function kafkaLibrary(): Promise<typeof Kafka> {
  return await import('@platformatic/kafka');
}

/** A broker whose answers are none. */
export class KafkaFrameError extends Error {
  override name = 'KafkaFrameError';
  readonly code = 'KAFKA_FRAME';
}

const sizeBytes = 4;
/** Whose answer it is. */
const answerBytesMin = 4;

/**
 * The client library reads an answer with a size below what every answer has beyond its buffer, and throws where nobody can catch it:
 * that would end the process. Such a connection is given up instead.
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
  /** What ended the connection; a request that it cut off says only that it is closed. */
  readonly faultOf: () => Error | undefined;
}

interface Versions {
  readonly minVersion: number;
  readonly maxVersion: number;
}

function connected(connection: Connection, { versions, faultOf }: Known, { host, port }: KafkaBroker): KafkaConnection {
  return {
    agree: (apiKey, forms) => {
      const { minVersion, maxVersion } = versions.get(apiKey) ?? { minVersion: 0, maxVersion: -1 };
      const found = forms.find(({ version }) => version >= minVersion && version <= maxVersion);
      if (found !== undefined) return found;
      throw new KafkaVersionError(
        `expected the broker at ${host}:${port} to know request ${apiKey} in version ${forms.map(({ version }) => version).join(' or ')}, ` +
          `got one that knows the versions ${minVersion} to ${maxVersion} only: use a newer Kafka`,
      );
    },
    ask: (apiKey, { version, parse, flexible }, payload) =>
      new Promise((resolve, reject) => {
        connection.send(apiKey, version, payload, parse, flexible, flexible, (error, response) => {
          if (error !== null || response === undefined)
            reject(faultOf() ?? error ?? new Error('expected an answer, got none'));
          else resolve(response);
        });
      }),
  };
}
