/**
 * An Apache Kafka broker (KRaft, version 4.1) for tests: on loopback only, its data in a directory that is given.
 *
 * The jars come from Maven Central by `mvn` and are kept in the user's cache directory.
 */
import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../../tools/with-server.ts';

const version = '4.1.0';
const javaMin = 17;
const downloadMs = 240_000;
const startMs = 300_000;
const clusterId = 'bWlsbHJhY2UtdGVzdC1rZg';
/** Of every process. */
const nodeSettings = {
  'process.roles': 'broker,controller',
  'controller.listener.names': 'CONTROLLER',
  'inter.broker.listener.name': 'PLAINTEXT',
  'auto.create.topics.enable': 'false',
  'offsets.topic.replication.factor': '1',
  'offsets.topic.num.partitions': '1',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'transaction.state.log.num.partitions': '1',
  'group.initial.rebalance.delay.ms': '0',
  'message.max.bytes': String(32 * 1024 * 1024),
  'log.cleaner.backoff.ms': '200',
  // By default what is older than a week goes within minutes, by the time that its sender gave it.
  'log.retention.ms': '-1',
};
export const kafkaUser = 'reader';
export const kafkaPassword = 'reader-secret';
/** Time for which a login with a token is valid. Clients log in again after four fifths of it. */
const tokenSessionMs = 5000;

export interface KafkaJars {
  readonly directory: string;
}

/** Or why there are no binaries. */
export async function findKafkaJars(): Promise<KafkaJars | string> {
  const java = javaVersion();
  if (java === undefined) return `expected a JDK ${javaMin} or newer on the PATH, found no java`;
  if (java < javaMin) return `expected a JDK ${javaMin} or newer on the PATH, found version ${java}`;
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'millrace');
  const directory = join(cache, `kafka-${version}`);
  if (existsSync(directory)) return { directory };
  if (!canRun('mvn', ['-v']))
    return `expected mvn on the PATH, to fetch Kafka ${version} from Maven Central, found none`;
  return await download(cache, directory);
}

/** All jars or none: what broke off halfway is not taken for the whole. */
async function download(cache: string, directory: string): Promise<KafkaJars | string> {
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, 'download-'));
  try {
    await writeFile(join(work, 'pom.xml'), pom());
    const jars = join(work, 'jars');
    const args = ['-B', '-q', 'dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${jars}`];
    execFileSync('mvn', args, { cwd: work, stdio: ['ignore', 2, 2], timeout: downloadMs });
    await rename(jars, directory).catch((error: unknown) => {
      // Another process was faster.
      if (!existsSync(directory)) throw error;
    });
    return { directory };
  } catch (error) {
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\n');
    return `mvn could not fetch Kafka ${version} from Maven Central (${reason}); look at what it says above, then try again`;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function pom(): string {
  const dependency = (groupId: string, artifactId: string, of: string): string =>
    `<dependency><groupId>${groupId}</groupId><artifactId>${artifactId}</artifactId><version>${of}</version></dependency>`;
  return `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
    <groupId>millrace</groupId><artifactId>kafka-for-tests</artifactId><version>1</version><packaging>pom</packaging>
    <dependencies>${dependency('org.apache.kafka', 'kafka_2.13', version)}
      ${dependency('org.slf4j', 'slf4j-simple', '1.7.36')}</dependencies></project>`;
}

/** The major version; undefined: no Java. */
function javaVersion(): number | undefined {
  try {
    // `openjdk 17.0.15 2025-04-15`
    return Number(
      /\d+/.exec(execFileSync('java', ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))?.[0],
    );
  } catch {
    return undefined;
  }
}

function canRun(program: string, args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

interface Ports {
  readonly plain: number;
  readonly tls: number;
  readonly mutual: number;
  readonly token: number;
  readonly controller: number;
}

/** A process of Kafka. */
export interface KafkaNode {
  /** Of the one that runs now. */
  pid(): number;
  /** SIGKILL; does nothing when it is down. */
  kill(): Promise<void>;
  /** After kill: with the same data and ports, ready when it resolves. */
  restart(): Promise<void>;
  /** SIGSTOP. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
}

export interface KafkaBroker extends KafkaNode {
  /** `host:port` without encryption and user. */
  readonly plain: string;
  /** TLS and SASL (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512) with kafkaUser and kafkaPassword. */
  readonly tls: string;
  /** TLS with a client certificate, of which it accepts that of `caFile` alone; its key is in keys.p12 of the same directory. */
  readonly mutual: string;
  /** SASL/OAUTHBEARER with unsecured tokens (RFC 7515, A.5), without encryption; a session ends after seconds. */
  readonly token: string;
  /** The certificate, which is its own authority. */
  readonly caFile: string;
}

/** Formats and starts a separate broker. `directory` must be empty; the caller removes it after `kill`. */
export async function startKafkaBroker(jars: KafkaJars, directory: string): Promise<KafkaBroker> {
  const ports: Ports = {
    plain: await freePort(),
    tls: await freePort(),
    mutual: await freePort(),
    token: await freePort(),
    controller: await freePort(),
  };
  const caFile = makeCertificate(directory);
  const scram = ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((kind) => [
    '--add-scram',
    `${kind}=[name=${kafkaUser},password=${kafkaPassword}]`,
  ]);
  const node = await startKafkaNode(jars, directory, serverSettings(directory, ports), ['--standalone', ...scram]);
  return {
    ...node,
    plain: `127.0.0.1:${ports.plain}`,
    tls: `localhost:${ports.tls}`,
    mutual: `localhost:${ports.mutual}`,
    token: `127.0.0.1:${ports.token}`,
    caFile,
  };
}

/** Formats the directory and starts a process with these settings; ready when it resolves. */
export async function startKafkaNode(
  jars: KafkaJars,
  directory: string,
  settings: Readonly<Record<string, string>>,
  formatOptions: readonly string[],
): Promise<KafkaNode> {
  const file = join(directory, 'server.properties');
  const lines = Object.entries({ ...nodeSettings, 'log.dirs': join(directory, 'data'), ...settings });
  await writeFile(file, lines.map(([key, value]) => `${key}=${value}\n`).join(''));
  const format = ['format', '-t', clusterId, '-c', file, ...formatOptions];
  await promisify(execFile)('java', javaArgs(jars, 'kafka.tools.StorageTool', format), { cwd: directory });
  const start = async (): Promise<ChildProcess> => {
    const broker = startBroker(jars, directory, file);
    try {
      await untilStarted(broker, join(directory, 'log'));
      return broker;
    } catch (error) {
      await kill(broker);
      throw error;
    }
  };
  let broker = await start();
  return {
    pid: () => broker.pid ?? 0,
    kill: () => kill(broker),
    restart: async () => {
      await kill(broker);
      broker = await start();
    },
    pause: () => void broker.kill('SIGSTOP'),
    resume: () => void broker.kill('SIGCONT'),
  };
}

async function kill(broker: ChildProcess): Promise<void> {
  if (broker.exitCode !== null || broker.signalCode !== null) return;
  const ended = once(broker, 'exit');
  broker.kill('SIGKILL');
  await ended;
}

/** For localhost. Gives the file with the certificate, which is its own authority. */
function makeCertificate(directory: string): string {
  const file = join(directory, 'ca.pem');
  const store = [
    '-keystore',
    join(directory, 'keys.p12'),
    '-storetype',
    'PKCS12',
    '-storepass',
    'changeit',
    '-alias',
    'broker',
  ];
  const key = [
    '-keyalg',
    'EC',
    '-dname',
    'CN=localhost',
    '-ext',
    'san=dns:localhost',
    '-ext',
    'bc:c',
    '-validity',
    '30',
  ];
  execFileSync('keytool', ['-genkeypair', ...store, ...key], { stdio: 'ignore' });
  execFileSync('keytool', ['-exportcert', '-rfc', '-file', file, ...store], { stdio: 'ignore' });
  return file;
}

function serverSettings(directory: string, { plain, tls, mutual, token, controller }: Ports): Record<string, string> {
  const plainUser = `org.apache.kafka.common.security.plain.PlainLoginModule required user_${kafkaUser}="${kafkaPassword}";`;
  const scram = 'org.apache.kafka.common.security.scram.ScramLoginModule required;';
  return {
    'node.id': '1',
    'controller.quorum.bootstrap.servers': `127.0.0.1:${controller}`,
    listeners: `PLAINTEXT://127.0.0.1:${plain},SASL_SSL://localhost:${tls},MUTUAL://localhost:${mutual},TOKEN://127.0.0.1:${token},CONTROLLER://127.0.0.1:${controller}`,
    'listener.security.protocol.map':
      'PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,MUTUAL:SSL,TOKEN:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT',
    'listener.name.mutual.ssl.client.auth': 'required',
    'listener.name.mutual.ssl.truststore.type': 'PEM',
    'listener.name.mutual.ssl.truststore.location': join(directory, 'ca.pem'),
    'ssl.keystore.location': join(directory, 'keys.p12'),
    'ssl.keystore.password': 'changeit',
    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
    'listener.name.token.sasl.enabled.mechanisms': 'OAUTHBEARER',
    'listener.name.token.oauthbearer.sasl.jaas.config':
      'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;',
    'listener.name.token.oauthbearer.connections.max.reauth.ms': String(tokenSessionMs),
    'listener.name.sasl_ssl.plain.sasl.jaas.config': plainUser,
    'listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config': scram,
    'listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config': scram,
  };
}

function javaArgs({ directory }: KafkaJars, main: string, args: readonly string[]): string[] {
  // A short start counts more than speed later on.
  return ['-Xmx512m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-cp', join(directory, '*'), main, ...args];
}

function startBroker(jars: KafkaJars, directory: string, settings: string): ChildProcess {
  const log = openSync(join(directory, 'log'), 'w');
  try {
    const args = javaArgs(jars, 'kafka.Kafka', [settings]);
    return spawn('java', args, { cwd: directory, stdio: ['ignore', log, log], detached: true });
  } finally {
    closeSync(log);
  }
}

async function untilStarted(broker: ChildProcess, log: string): Promise<void> {
  for (const end = Date.now() + startMs; Date.now() < end; await sleep(100)) {
    const said = await readFile(log, 'utf8');
    if (said.includes('Kafka Server started')) return;
    if (broker.exitCode !== null || broker.signalCode !== null) break;
  }
  console.error(await readFile(log, 'utf8'));
  throw new Error(`expected the Kafka broker to start within ${startMs / 1000} s, it did not; its log is above`);
}
