import { accessSync, constants, existsSync, readFileSync, statSync, statfsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform, release, totalmem } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import { CheckSkippedError, definePart, nothingOpen, type DoctorContext, type Outcome } from './check.ts';

const neededNodeMajor = 24;
const gib = 1024 ** 3;
const freeBytesWanted = 2 * gib;
const freeBytesNeeded = 256 * 1024 ** 2;
const filesWanted = 4096;
/** A process without its caches, engine and plugins. */
const processBytes = 300 * 1024 ** 2;

type MachineSubject = DoctorContext & typeof nothingOpen;

export const machinePart = definePart<MachineSubject>({
  title: 'Machine',
  open: async (context) => ({ ...context, ...nothingOpen }),
  checks: {
    node_version: {
      checks: `the program runs on Node ${neededNodeMajor} or newer`,
      severity: 'failed',
      advice: 'Run `npm ci`, which installs it.',
      find: () => {
        const { node } = process.versions;
        if (Number(node.split('.')[0]) >= neededNodeMajor) return `${node} on ${platform()} ${arch()} (${release()})`;
        return [`expected Node ${neededNodeMajor} or newer, got ${node}`];
      },
    },
    data_directory: {
      checks: 'the data directory can be created, or read and written',
      severity: 'failed',
      advice: 'Give the user of the service this directory, or name another one in `MILLRACE_DATA_DIR`.',
      find: ({ settings }) => {
        const path = resolve(settings.dataDir);
        if (!existsSync(path)) {
          const parent = nearestFolder(path);
          if (!statSync(parent).isDirectory()) return [`${parent} is not a directory`];
          accessSync(parent, constants.W_OK);
          return `${path} does not exist yet; the first start creates it`;
        }
        accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
        return `${path} is writable`;
      },
    },
    free_disk: {
      checks: 'the disk of the data directory has 2 GiB free, at least 256 MiB',
      severity: 'warning',
      advice: 'Free space: capture answers 503 while the disk is full.',
      find: ({ settings }) => {
        const { bavail, bsize } = statfsSync(nearestFolder(resolve(settings.dataDir)));
        const free = bavail * bsize;
        const detail = `${(free / gib).toFixed(1)} GiB free`;
        if (free < freeBytesNeeded) return [{ detail, severity: 'failed' }];
        return free < freeBytesWanted ? [detail] : detail;
      },
    },
    file_descriptors: {
      checks: `a process may open ${filesWanted} files and connections`,
      severity: 'warning',
      advice:
        'Raise the limit for the service: `LimitNOFILE=` of systemd, `ulimits` of Compose, `ulimit -n` of a shell.',
      find: fileLimit,
    },
    memory: {
      checks: 'the memory of the machine or container holds what the settings permit its roles',
      severity: 'warning',
      advice:
        'Raise the memory limit, or lower `MILLRACE_STORE_MEMORY_BYTES_MAX` or `MILLRACE_PERSON_CACHE_BYTES`: a process beyond the limit is killed.',
      find: ({ settings }) => {
        const needed = sumOf(memoryOf(settings));
        const constrained = process.constrainedMemory();
        const limit = Math.min(totalmem(), constrained > 0 ? constrained : Infinity);
        const detail = `${gibOf(limit)}, ${gibOf(needed)} used at most (${describe(memoryOf(settings))})`;
        return needed > limit
          ? [`expected at least ${gibOf(needed)} (${describe(memoryOf(settings))}), got ${gibOf(limit)}`]
          : detail;
      },
    },
    embedded_engine: {
      checks: 'the library of the embedded event store is installed, unless `CLICKHOUSE_URL` is set',
      severity: 'failed',
      advice: 'Run `npm ci`; set `CLICKHOUSE_URL` on a platform without the library.',
      find: ({ settings }) => {
        if (settings.clickhouseUrl !== '') throw new CheckSkippedError('CLICKHOUSE_URL is set');
        return embeddedLibrary(platform(), arch());
      },
    },
  },
});

function nearestFolder(path: string): string {
  return existsSync(path) ? path : nearestFolder(dirname(path));
}

/** Node raises its soft limit to the hard one at its start. */
function fileLimit(): Outcome {
  if (platform() !== 'linux') throw new CheckSkippedError(`not known on ${platform()}`);
  const [, soft = ''] = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  const limit = soft === 'unlimited' ? Infinity : Number(soft);
  return limit < filesWanted ? [`expected at least ${filesWanted}, got ${soft}`] : soft;
}

/** What a process uses at most in addition to bodies in flight, by cause. */
function memoryOf(settings: Settings): Readonly<Record<string, number>> {
  const has = (role: Settings['roles'][number]): boolean => settings.roles.includes(role);
  return {
    program: processBytes,
    ...(settings.clickhouseUrl === '' && { store: settings.storeMemoryBytesMax }),
    ...(has('pipeline') && { persons: settings.personCacheBytes }),
  };
}

function sumOf(parts: Readonly<Record<string, number>>): number {
  return Object.values(parts).reduce((sum, bytes) => sum + bytes, 0);
}

const gibOf = (bytes: number): string => `${(bytes / gib).toFixed(1)} GiB`;

function describe(parts: Readonly<Record<string, number>>): string {
  return Object.entries(parts)
    .map(([name, bytes]) => `${name} ${gibOf(bytes)}`)
    .join(', ');
}

/** The engine is an optional package per platform. */
export function embeddedLibrary(system: string, processor: string): Outcome {
  const library = `@chdb/lib-${system}-${processor}${system === 'linux' ? '-gnu' : ''}`;
  try {
    createRequire(import.meta.url).resolve(`${library}/package.json`);
    return library;
  } catch {
    return [`${library} is not installed`];
  }
}
