import { fine, problem, warning, type PreflightCheck } from './findings.ts';

/** Sources that export "up to yesterday", and signatures of buckets, depend on the clock of this machine. */
const problemMs = 15 * 60_000;
const warningMs = 60_000;

/** Checks whether the clocks of this machine and of the target agree. */
export const checkClock: PreflightCheck = {
  name: 'clock',
  run: async (context) => {
    const skewMs = (await context.endpoint())?.skewMs;
    if (skewMs === undefined) return [];
    const offMs = Math.abs(skewMs);
    if (offMs < warningMs) return [fine('the clocks of this machine and of the target agree')];
    const side = skewMs > 0 ? 'behind' : 'ahead of';
    const message = `the clock of this machine is ${durationOf(offMs)} ${side} that of the target`;
    const advice = 'set the clock that is wrong (NTP keeps it right)';
    return [(offMs < problemMs ? warning : problem)('clock_off', message, advice)];
  },
  late: () => warning('clock_off', 'expected the time of the target, got no response', null),
};

function durationOf(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}
