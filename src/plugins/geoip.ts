import { readFileSync, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { Reader, type CityResponse } from 'maxmind';
import type { GeoIp } from './host.ts';
import type { WarnLog } from '../server/telemetry/log.ts';

/** The current GeoIP database; both fields change with the file. */
export interface GeoIpSource {
  /** Reads from the newest readable database. Once present, always the same object. */
  readonly geoip: GeoIp | undefined;
  /** What to do when there is no database; otherwise empty. */
  readonly geoipProblem: string;
  /** Reads the file again if it changed. Called automatically every minute. */
  check(): Promise<void>;
  close(): void;
}

export interface GeoIpOptions {
  readonly checkMs?: number;
  /** Called after a first or newer database was read. */
  readonly onChange?: () => void;
}

const checkMsDefault = 60_000;
const where =
  'set MILLRACE_GEOIP_DATABASE to the path of a MaxMind City database (.mmdb), for example GeoLite2-City.mmdb';

/** `path` is MILLRACE_GEOIP_DATABASE; empty means none. Reads the file synchronously, tens of milliseconds for a full database. */
export function openGeoIp(path: string, log: WarnLog, options: GeoIpOptions = {}): GeoIpSource {
  if (path === '') {
    const geoipProblem = `expected a GeoIP database, got none; ${where}`;
    return { geoip: undefined, geoipProblem, check: async () => undefined, close: () => undefined };
  }
  return new WatchedDatabase(path, log, options);
}

class WatchedDatabase implements GeoIpSource {
  readonly #path: string;
  readonly #log: WarnLog;
  readonly #onChange: () => void;
  readonly #timer: NodeJS.Timeout;
  readonly #locator: GeoIp = { locate: (ip) => this.#locate(ip) };
  #reader: Reader<CityResponse> | undefined;
  #problem = '';
  /** Version of the last tried file. */
  #version = '';
  #hasWarned = false;

  constructor(path: string, log: WarnLog, { checkMs = checkMsDefault, onChange = () => undefined }: GeoIpOptions) {
    this.#path = path;
    this.#log = log;
    this.#onChange = onChange;
    try {
      this.#version = versionOf(statSync(path));
      this.#reader = cityReader(readFileSync(path));
    } catch (error) {
      this.#fail(error);
    }
    this.#timer = setInterval(() => void this.check(), checkMs).unref();
  }

  get geoip(): GeoIp | undefined {
    return this.#reader === undefined ? undefined : this.#locator;
  }

  get geoipProblem(): string {
    return this.#reader === undefined ? this.#problem : '';
  }

  async check(): Promise<void> {
    try {
      const version = versionOf(await stat(this.#path));
      if (version === this.#version) return;
      this.#version = version;
      this.#reader = cityReader(await readFile(this.#path));
      this.#hasWarned = false;
      this.#problem = '';
      this.#onChange();
    } catch (error) {
      this.#fail(error);
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Keeps the previously read database in use, if any. */
  #fail(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    const problem = `expected to read the GeoIP database ${this.#path}, got: ${reason}; ${where}`;
    if (problem !== this.#problem) this.#log.warn({ err: error }, problem);
    this.#problem = problem;
  }

  #locate(ip: string): CityResponse | null {
    // An IPv4 address from an IPv6 socket; isIP refuses invalid ones.
    const address = /^::ffff:\d+\./i.test(ip) ? ip.slice(7) : ip;
    if (this.#reader === undefined || isIP(address) === 0 || address.includes('%')) return null;
    try {
      return this.#reader.get(address);
    } catch (error) {
      if (!this.#hasWarned)
        this.#log.warn({ err: error }, `the GeoIP database ${this.#path} is damaged; download it again`);
      this.#hasWarned = true;
      return null;
    }
  }
}

function versionOf({ mtimeMs, size, ino }: { mtimeMs: number; size: number; ino: number }): string {
  return `${mtimeMs} ${size} ${ino}`;
}

function cityReader(file: Buffer): Reader<CityResponse> {
  const reader = new Reader<CityResponse>(file);
  const { databaseType } = reader.metadata;
  // Enterprise databases contain the same records and more.
  if (!/City|Enterprise/i.test(databaseType))
    throw new Error(`a database of type ${databaseType}, which contains no cities`);
  return reader;
}
