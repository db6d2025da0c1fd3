import { loadSettings } from '../../config/load.ts';
import type { Part, ServicePlace } from './check.ts';
import { examine, type Finding } from './examine.ts';

const nowhere: ServicePlace = { url: 'http://127.0.0.1:9', isElsewhere: false, isInUse: false };

export interface Diagnosis {
  readonly findings: readonly Finding[];
  /** Warnings and failures of a check; of all without a code. */
  faults(code?: string): readonly Finding[];
}

/** For tests: makes the checks of these parts with the settings of an environment. */
export async function diagnose(
  env: Readonly<Record<string, string>>,
  parts: readonly Part[],
  place: ServicePlace = nowhere,
): Promise<Diagnosis> {
  const { settings } = loadSettings({ env });
  const findings = await examine({ settings, place }, { parts, checkMs: 60_000 });
  const isFault = ({ state }: Finding): boolean => state === 'warning' || state === 'failed';
  return {
    findings,
    faults: (code) => findings.filter((finding) => isFault(finding) && (code === undefined || finding.code === code)),
  };
}
