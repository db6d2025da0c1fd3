import type * as Kafka from '@platformatic/kafka';
import { isIP } from 'node:net';
import type { Connection, ResponseParser, Writer } from '@platformatic/kafka';
import { SourceError, type ResolveHost } from '../source.ts';
import { kafkaError } from './kafka-errors.ts';
import type { KafkaBroker, KafkaPlace } from './kafka-place.ts';

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
  /** Of the forms, newest first, the first that the broker knows too. Throws SourceError: none. */
  agree<Form extends { readonly version: number }>(apiKey: number, forms: readonly Form[]): Form;
  /** Throws as the client library does, not yet as a source. */
  ask<Response>(
    apiKey: number,
    form: Omit<RequestForm<unknown, Response>, 'request'>,
    payload: () => Writer,
  ): Promise<Response>;
}

/** Connections to brokers, each made when it is first needed. */
export interface KafkaConnections {
  /** Throws SourceError, SourceWaitError, or the signal's reason. */
  to(broker: KafkaBroker): Promise<KafkaConnection>;
  close(): Promise<void>;
}

const clientId = 'millrace-import';
const connectTimeoutMs = 10_000;
const requestTimeoutMs = 60_000;

/** @param resolve gives the checked address of a host: a broker may name any other, and none is reached unchecked */
export function createKafkaConnections(place: KafkaPlace, resolve: ResolveHost, signal: AbortSignal): KafkaConnections {
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
    to: ({ host, port }) => {
      const name = `${host}:${port}`;
      const known = made.get(name) ?? connect(place, { host, port }, { resolve, signal, opened });
      made.set(name, known);
      return known;
    },
  };
}

interface ConnectDeps {
  readonly resolve: ResolveHost;
  readonly signal: AbortSignal;
  /** Told of each connection before it is made. */
  readonly opened: Set<Connection>;
}

async function connect(place: KafkaPlace, broker: KafkaBroker, deps: ConnectDeps): Promise<KafkaConnection> {
  const { host, port } = broker;
  const { resolve, signal, opened } = deps;
  try {
    signal.throwIfAborted();
    const { Connection: KafkaSocket, apiVersionsV1, clientSoftwareName, clientSoftwareVersion } = await kafkaLibrary();
    const connection = new KafkaSocket(clientId, {
      connectTimeout: connectTimeoutMs,
      requestTimeout: requestTimeoutMs,
      ...(place.tls && { tls: place.tls, ...(isIP(host) === 0 && { tlsServerName: host }) }),
      ...(place.sasl && { sasl: place.sasl }),
    });
    opened.add(connection);
    // What happens between two requests; the next one fails by it.
    connection.on('error', () => undefined);
    const address = await resolve(host, port);
    signal.throwIfAborted();
    await connection.connect(address, port);
    const { apiKeys } = await apiVersionsV1.api.async(connection, clientSoftwareName, String(clientSoftwareVersion));
    return connected(connection, new Map(apiKeys.map((each) => [each.apiKey, each])), broker);
  } catch (error) {
    throw signal.aborted ? signal.reason : kafkaError(error, { place, broker });
  }
}

/** Loaded when it is first needed. */
export async function kafkaLibrary(): Promise<typeof Kafka> {
  return await import('@platformatic/kafka');
}

interface Versions {
  readonly minVersion: number;
  readonly maxVersion: number;
}

function connected(
  connection: Connection,
  versions: ReadonlyMap<number, Versions>,
  { host, port }: KafkaBroker,
): KafkaConnection {
  return {
    agree: (apiKey, forms) => {
      const { minVersion, maxVersion } = versions.get(apiKey) ?? { minVersion: 0, maxVersion: -1 };
      const found = forms.find(({ version }) => version >= minVersion && version <= maxVersion);
      if (found !== undefined) return found;
      throw new SourceError(
        `expected a broker of Kafka 2.3 or newer at ${host}:${port}, got one that knows request ${apiKey} in the versions ` +
          `${minVersion} to ${maxVersion} only`,
      );
    },
    ask: (apiKey, { version, parse, flexible }, payload) =>
      new Promise((resolve, reject) => {
        connection.send(apiKey, version, payload, parse, flexible, flexible, (error, response) => {
          if (error !== null || response === undefined) reject(error ?? new Error('expected an answer, got none'));
          else resolve(response);
        });
      }),
  };
}
