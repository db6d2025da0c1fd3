import type { Command } from 'commander';
import { isDataDirInUse } from '../../server/service/data-dir.ts';
import type { ServicePlace } from '../../server/service/doctor/check.ts';
import { examine, type Finding } from '../../server/service/doctor/examine.ts';
import type { Settings } from '../../server/config/settings.ts';
import { CommandError } from '../exit-codes.ts';
import { addOutputOptions, showList, type OutputOptions } from '../output.ts';
import { addSettingOptions, settingsFrom } from '../setting-options.ts';
import type { CommandProcess, Terminal } from '../terminal.ts';
import { addUrlOption, localUrl, serviceUrl, type ServiceAddress } from './healthcheck.ts';

interface DoctorOptions extends OutputOptions, ServiceAddress {
  readonly dataDir?: string;
}

/** Checks everything that `serve` needs, without changes, and reports what to do about each fault. */
export function doctorCommand(parent: Command, terminal: Terminal): void {
  addSettingOptions(addUrlOption(addOutputOptions(parent.command('doctor')))).action(
    async (options: DoctorOptions, command: Command) => {
      const { settings } = settingsFrom({ ...options }, terminal.process);
      const place = placeOf(options, settings, command, terminal.process);
      const findings = await examine({ settings, place });
      await showList(terminal, options, findings, () => showFindings(terminal, findings));
      const failed = findings.filter(({ state }) => state === 'failed');
      if (failed.length > 0) {
        const codes = [...new Set(failed.map(({ code }) => code))];
        const all = new Set(findings.map(({ code }) => code)).size;
        throw new CommandError('failed', `${codes.length} of ${all} checks failed: ${codes.join(', ')}`);
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
  const local = localUrl(settings);
  if (dataDir !== undefined && command.getOptionValueSource('url') !== 'cli') {
    return { url: local, isElsewhere: false, isInUse: isDataDirInUse(dataDir) };
  }
  const found = serviceUrl(given, process);
  return { url: found, isElsewhere: found !== local, isInUse: undefined };
}

const order = ['ok', 'warning', 'failed'] as const;
const colors = { ok: 'green', warning: 'yellow', failed: 'red' } as const;
const codeWidth = 28;

/** Faults come last, where they are seen; checks that were skipped for the same reason share a line. */
function showFindings(terminal: Terminal, findings: readonly Finding[]): void {
  const skipped = findings.filter(({ state }) => state === 'skipped');
  for (const [detail, same] of Map.groupBy(skipped, ({ detail: reason }) => reason)) {
    const [first] = same;
    const code = same.length === 1 && first !== undefined ? first.code : `${same.length} checks`;
    terminal.data(`skipped ${code.padEnd(codeWidth)}${detail}`);
  }
  for (const wanted of order) {
    for (const { state, code, detail, advice } of findings) {
      if (state !== wanted) continue;
      terminal.data(`${terminal.styled(colors[wanted], wanted.padEnd(8))}${code.padEnd(codeWidth)}${detail}`);
      if (advice !== '') terminal.data(`${' '.repeat(8 + codeWidth)}${advice.replaceAll('`', '')}`);
    }
  }
}
