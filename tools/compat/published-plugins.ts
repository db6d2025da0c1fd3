/**
 * Tries published plugins, unmodified, in the real service: `node tools/compat/published-plugins.ts FOLDER… npm:NAME…`.
 *
 * Each folder contains a plugin as in its repository. `--json` prints all observations. A test double on ports 80 and 443 acts as the
 * services that plugins call; `--hosts` prints the lines that /etc/hosts needs for it. With DATABASE_URL (see
 * tools/with-postgres.ts) plugins that need PostgreSQL or Redshift get that server. Exits with 1 when a plugin does not run.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeCityDatabase } from '../../test/support/mmdb.ts';
import { prepareDatabase } from './database.ts';
import { trialSettings } from './plugin-settings.ts';
import { startService } from './service.ts';
import { hostsLines, startStandIn } from './stand-in.ts';
import { storePlain, tryPlugin, type Trial } from './try-plugin.ts';

const usage = 'usage: node tools/compat/published-plugins.ts [--json] [--hosts] FOLDER|npm:NAME …';
/** As many as the service installs at a time. */
const atOnce = 4;

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const sources = args.filter((argument) => !argument.startsWith('--'));
  if (args.includes('--hosts')) {
    console.log(hostsLines().join('\n'));
    return 0;
  }
  if (sources.length === 0) {
    console.error(usage);
    return 2;
  }
  const directory = await mkdtemp(join(tmpdir(), 'millrace-compat-'));
  try {
    const trials = await tryAll(directory, sources);
    console.log(args.includes('--json') ? JSON.stringify(trials, null, 2) : trials.map(row).join('\n'));
    const running = trials.filter(({ runs }) => runs).length;
    console.error(`${running} of ${trials.length} run`);
    return running === trials.length ? 0 : 1;
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function tryAll(directory: string, sources: readonly string[]): Promise<Trial[]> {
  const geoip = join(directory, 'city.mmdb');
  await writeCityDatabase(geoip, [
    {
      network: '89.160.20.112/28',
      record: {
        city: { names: { en: 'Linköping' } },
        country: { names: { en: 'Sweden' }, iso_code: 'SE' },
        continent: { names: { en: 'Europe' }, code: 'EU' },
        location: { latitude: 58.4, longitude: 15.6, time_zone: 'Europe/Stockholm' },
      },
    },
  ]);
  await using standIn = await startStandIn(directory);
  const database = await prepareDatabase(process.env['DATABASE_URL'], standIn);
  await using service = await startService(directory, {
    MILLRACE_GEOIP_DATABASE: geoip,
    MILLRACE_OUTBOUND_ALLOW: '127.0.0.1',
    MILLRACE_OUTBOUND_CA: standIn.caFile,
  });
  const plain = await storePlain(service);
  const parts = { plain, settingsOf: (name: string) => trialSettings(name, database) };
  const waiting = [...sources.entries()];
  const trials: Trial[] = [];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, source] = next;
      const trial = await tryPlugin(service, source, parts);
      trials[index] = trial;
      console.error(`${trial.runs ? 'runs' : 'NOT '} ${source}: ${trial.name} ${trial.note}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  console.error(`requests to the stand-in: ${JSON.stringify(Object.fromEntries(standIn.requests))}`);
  return trials;
}

function row({ source, name, runs, note, kind, events, jobs }: Trial): string {
  const { sent, changed = 0, stored = 0, succeeded = 0, dropped = 0, failed = 0 } = events;
  const seen = `${sent} sent, ${changed} changed, ${stored} stored, ${succeeded} succeeded, ${dropped} dropped, ${failed} failed`;
  return [source, name, kind, runs ? 'runs' : 'does not run', seen, jobs.join('; '), note].join(' | ');
}
