import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { arch, platform, release } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { sql } from 'kysely';
import { networkFault } from '../../base/network-fault.ts';
import type { Settings } from '../../server/config/settings.ts';
import { isDataDirInUse } from '../../server/service/data-dir.ts';
import { metadataFile, openMetadata } from '../../server/service/stores.ts';
import { createLog } from '../../server/telemetry/log.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { checkSchemaVersion, schemaVersion } from '../../stores/metadata/migrate.ts';
import { CommandError } from '../exit-codes.ts';
import { addOutputOptions, showList, type OutputOptions } from '../output.ts';
import { addSettingOptions, settingsFrom } from '../setting-options.ts';
import type { CommandProcess, Terminal } from '../terminal.ts';
import { addUrlOption, localUrl, serviceUrl, type ServiceAddress } from './healthcheck.ts';

interface DoctorOptions extends OutputOptions, ServiceAddress {
  readonly dataDir?: string;
}

/** The service to report. */
interface ServicePlace {
  readonly url: string;
  /** Whether a process uses the data directory; `undefined` if any service at the address is meant. */
  readonly isInUse: boolean | undefined;
}

type State = 'ok' | 'warning' | 'failed';
interface Finding {
  readonly name: string;
  readonly state: State;
  readonly detail: string;
}

const neededNodeMajor = 24;
const freeBytesWanted = 2 * 1024 ** 3;
const freeBytesNeeded = 256 * 1024 ** 2;

/** Checks everything that `serve` needs, without changes, and reports what to do about each fault. */
export function doctorCommand(parent: Command, terminal: Terminal): void {
  addSettingOptions(addUrlOption(addOutputOptions(parent.command('doctor')))).action(
    async (options: DoctorOptions, command: Command) => {
      const { settings } = settingsFrom({ ...options }, terminal.process);
      const findings = await examine(settings, placeOf(options, settings, command, terminal.process));
      await showList(terminal, options, findings, () => {
        for (const finding of findings) terminal.data(line(terminal, finding));
      });
      const failed = findings.filter(({ state }) => state === 'failed');
      if (failed.length > 0) {
        throw new CommandError('failed', `${failed.length} of ${findings.length} checks failed: ${names(failed)}`);
      }
    },
  );
}

/** A data directory given as a flag means its own service, whatever MILLRACE_URL is. */
function placeOf(
  { dataDir, url, ...address }: DoctorOptions,
  settings: Settings,
  command: Command,
  process: CommandProcess,
): ServicePlace {
  const given = { ...address, ...(url !== undefined && { url }) };
  if (dataDir === undefined || command.getOptionValueSource('url') === 'cli') {
    return { url: serviceUrl(given, process), isInUse: undefined };
  }
  return { url: localUrl(settings), isInUse: isDataDirInUse(dataDir) };
}

function names(findings: readonly Finding[]): string {
  return findings.map(({ name }) => name).join(', ');
}

function line(terminal: Terminal, { name, state, detail }: Finding): string {
  const color = { ok: 'green', warning: 'yellow', failed: 'red' } as const;
  return `${terminal.styled(color[state], state.padEnd(8))}${name.padEnd(22)}${detail}`;
}

type Check = () => Promise<Omit<Finding, 'name'>> | Omit<Finding, 'name'>;

async function examine(settings: Settings, place: ServicePlace): Promise<Finding[]> {
  const metadata = describeMetadata(settings);
  // Its own check reports its errors.
  const readable = metadata.catch(() => undefined);
  const checks: readonly (readonly [string, Check])[] = [
    ['node', nodeVersion],
    ['data directory', () => dataDirectory(settings.dataDir)],
    ['free disk', () => freeDisk(settings.dataDir)],
    ['metadata', async () => ok((await metadata)?.summary ?? 'none yet; the first start creates it')],
    ['damaged requests', async () => damagedRequests(await readable)],
    ['event store', () => eventStore(settings)],
  ];
  const findings: Finding[] = [];
  for (const [name, check] of checks) {
    try {
      findings.push({ name, ...(await check()) });
    } catch (error) {
      findings.push({ name, ...failed(error instanceof Error ? error.message : String(error)) });
    }
  }
  return [...findings, ...(await service(settings, place))];
}

const ok = (detail: string): Omit<Finding, 'name'> => ({ state: 'ok', detail });
const warning = (detail: string): Omit<Finding, 'name'> => ({ state: 'warning', detail });
const failed = (detail: string): Omit<Finding, 'name'> => ({ state: 'failed', detail });

function nodeVersion(): Omit<Finding, 'name'> {
  const { node } = process.versions;
  if (Number(node.split('.')[0]) >= neededNodeMajor) return ok(`${node} on ${platform()} ${arch()} (${release()})`);
  return failed(`expected Node ${neededNodeMajor} or newer, got ${node}; run "npm ci", which installs it`);
}

function dataDirectory(dataDir: string): Omit<Finding, 'name'> {
  const path = resolve(dataDir);
  if (!existsSync(path)) {
    accessSync(nearestFolder(path), constants.W_OK);
    return ok(`${path} does not exist yet; the first start creates it`);
  }
  accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  return ok(`${path} is writable`);
}

function freeDisk(dataDir: string): Omit<Finding, 'name'> {
  const { bavail, bsize } = statfsSync(nearestFolder(resolve(dataDir)));
  const free = bavail * bsize;
  const text = `${(free / 1024 ** 3).toFixed(1)} GiB free`;
  if (free < freeBytesNeeded) return failed(`${text}; capture responds with 503 when the disk is full: free space now`);
  return free < freeBytesWanted ? warning(`${text}; free space soon`) : ok(text);
}

function nearestFolder(path: string): string {
  return existsSync(path) ? path : nearestFolder(dirname(path));
}

/** What the metadata store says about itself. */
interface MetadataFacts {
  /** `path, schema 1 of 1`. */
  readonly summary: string;
  readonly place: string;
  /** Open dead letters of project 0: damaged requests of an unknown project, which no key may read. */
  readonly lettersWithoutProject: number;
}

/** Reads the metadata store without migrating it; `undefined` if it does not exist yet. */
async function describeMetadata({ dataDir, databaseUrl }: Settings): Promise<MetadataFacts | undefined> {
  const file = metadataFile(dataDir);
  if (databaseUrl === '' && !existsSync(file)) return undefined;
  const { db, dialect } = await openMetadata({ dataDir, databaseUrl }, createLog('warn'));
  try {
    const query = sql<{ version: number | null }>`select max(version) as version from schema_version`;
    const found = (await query.execute(db)).rows[0]?.version ?? 0;
    const place = dialect === 'sqlite' ? file : 'PostgreSQL';
    if (found > 0) checkSchemaVersion(found);
    const lettersWithoutProject = found === 0 ? 0 : await countLettersWithoutProject(db);
    return { summary: `${place}, schema ${found} of ${schemaVersion}`, place, lettersWithoutProject };
  } finally {
    await db.destroy();
  }
}

async function countLettersWithoutProject(db: Metadata): Promise<number> {
  const { count } = await db
    .selectFrom('dead_letters')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('project_id', '=', 0)
    .where('state', '=', 'open')
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** A request damaged in the log has no known project, so no key may read it: only this check reports it. */
function damagedRequests(metadata: MetadataFacts | undefined): Omit<Finding, 'name'> {
  const count = metadata?.lettersWithoutProject ?? 0;
  if (metadata === undefined || count === 0) return ok('none set aside');
  const where = `table dead_letters of ${metadata.place}, project_id 0`;
  return warning(`${count} set aside without a project: ${where}; see "Damaged requests" in docs/guides/operations.md`);
}

async function eventStore({ clickhouseUrl }: Settings): Promise<Omit<Finding, 'name'>> {
  if (clickhouseUrl === '') return embeddedStore();
  const { origin } = new URL(clickhouseUrl);
  const response = await fetch(`${origin}/ping`, { signal: AbortSignal.timeout(5000) }).catch((error: unknown) => {
    throw new Error(`cannot reach ClickHouse at ${origin} (${networkFault(error)}); check CLICKHOUSE_URL`);
  });
  return response.ok
    ? ok(`ClickHouse at ${origin}`)
    : failed(`ClickHouse at ${origin} responds with ${response.status}`);
}

/** Checks the engine's library, an optional package per platform. */
function embeddedStore(): Omit<Finding, 'name'> {
  const library = `@chdb/lib-${platform()}-${arch()}${platform() === 'linux' ? '-gnu' : ''}`;
  try {
    createRequire(import.meta.url).resolve(`${library}/package.json`);
    return ok(`embedded, ${library}`);
  } catch {
    return failed(
      `${library} is not installed; run "npm ci", or set CLICKHOUSE_URL if no such package exists for this platform`,
    );
  }
}

/** Reports the components of a running service; without one, whether the port is free. */
async function service(settings: Settings, { url, isInUse }: ServicePlace): Promise<Finding[]> {
  if (isInUse === false) {
    return [{ name: 'service', ...ok('none is running on this data directory') }, await port(settings)];
  }
  const live = await fetch(`${url}/livez`, { signal: AbortSignal.timeout(3000) }).catch(() => undefined);
  if (live?.ok === true) return [{ name: 'service', ...ok(`running at ${url}`) }, ...(await readiness(url))];
  if (isInUse === true) {
    const found = `a process uses the data directory, and no service responds at ${url}; name its address with --url`;
    return [{ name: 'service', ...warning(found) }];
  }
  const isElsewhere = url !== localUrl(settings);
  return [
    ...(isElsewhere ? [{ name: 'service', ...warning(`no service responds at ${url}`) }] : []),
    await port(settings),
  ];
}

async function port(settings: Settings): Promise<Finding> {
  if (settings.port === 0 || (await isFree(settings))) return { name: 'port', ...ok(`${settings.port} is free`) };
  return { name: 'port', ...failed(`${settings.port} is used by another program; choose one with --port`) };
}

async function readiness(url: string): Promise<Finding[]> {
  const answer = await fetch(`${url}/readyz?verbose`, { signal: AbortSignal.timeout(10_000) });
  type Check = { readonly ok: boolean; readonly optional?: boolean; readonly detail?: string };
  const { checks = {} } = (await answer.json()) as { checks?: Record<string, Check> };
  return Object.entries(checks).map(([component, { ok: isOk, optional = false, detail }]) => ({
    name: `service ${component}`,
    state: isOk ? 'ok' : optional ? 'warning' : 'failed',
    detail: detail === undefined || detail === '' ? 'ready' : detail,
  }));
}

async function isFree({ host, port }: Settings): Promise<boolean> {
  const server = createServer();
  return new Promise((done) => {
    server.once('error', () => done(false));
    server.listen(port, host, () => server.close(() => done(true)));
  });
}
