import { cpuSecondsOfTree, type BenchChild } from './process.ts';
import { load, median, type LoadOptions } from './load.ts';

export interface PairResult {
  /** Medians over the rounds. */
  readonly oursPerCpuSecond: number;
  readonly basePerCpuSecond: number;
  readonly oursPerSecond: number;
  readonly basePerSecond: number;
  /** Median of the ratios ours / base, round by round. */
  readonly cpuRatio: number;
  readonly ratioMin: number;
  readonly ratioMax: number;
}

/** Units of work per CPU second of a server under the same load. */
async function measure(
  server: BenchChild,
  options: Omit<LoadOptions, 'url'>,
  units: number,
): Promise<{ perCpuSecond: number; perSecond: number }> {
  const before = cpuSecondsOfTree(server.pid);
  const { wallSeconds } = await load({ ...options, url: server.url });
  const cpuSeconds = cpuSecondsOfTree(server.pid) - before;
  return { perCpuSecond: units / cpuSeconds, perSecond: units / wallSeconds };
}

/** Alternates ours and the baseline, so that a drifting machine favours neither. The first two rounds warm up. */
export async function comparePair(
  ours: BenchChild,
  base: BenchChild,
  options: Omit<LoadOptions, 'url'>,
  units: number,
  rounds: number,
): Promise<PairResult> {
  const oursRuns: Awaited<ReturnType<typeof measure>>[] = [];
  const baseRuns: Awaited<ReturnType<typeof measure>>[] = [];
  for (let round = -2; round < rounds; round++) {
    const first = await measure(ours, options, units);
    const second = await measure(base, options, units);
    if (round < 0) continue;
    oursRuns.push(first);
    baseRuns.push(second);
  }
  const ratios = oursRuns.map((run, index) => run.perCpuSecond / (baseRuns[index]?.perCpuSecond ?? Number.NaN));
  return {
    oursPerCpuSecond: median(oursRuns.map((run) => run.perCpuSecond)),
    basePerCpuSecond: median(baseRuns.map((run) => run.perCpuSecond)),
    oursPerSecond: median(oursRuns.map((run) => run.perSecond)),
    basePerSecond: median(baseRuns.map((run) => run.perSecond)),
    cpuRatio: median(ratios),
    ratioMin: Math.min(...ratios),
    ratioMax: Math.max(...ratios),
  };
}

export function thousands(value: number): string {
  return value >= 10_000 ? `${Math.round(value / 1000)} k` : String(Math.round(value));
}

export function pairRow(name: string, pair: PairResult): string {
  const { oursPerCpuSecond, basePerCpuSecond, oursPerSecond, basePerSecond, cpuRatio, ratioMin, ratioMax } = pair;
  const spread = `${ratioMin.toFixed(2)}–${ratioMax.toFixed(2)}`;
  return `| ${name} | ${thousands(oursPerCpuSecond)} | ${thousands(basePerCpuSecond)} | **${cpuRatio.toFixed(2)}** (${spread}) | ${thousands(oursPerSecond)} | ${thousands(basePerSecond)} |`;
}
