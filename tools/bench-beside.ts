/**
 * `npm run bench:beside -- <checkout> [rounds] [part …]`: the benchmarks of this checkout and of another one (`npm ci` done in
 * it) in turn, and for every figure the ratio this / other: median over the rounds, smallest and largest. The machine may be
 * noisy; what both ran into at the same time cancels out.
 */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { median } from './bench/load.ts';

const roundsDefault = 3;

/** Figures by row and column of the tables that a run of the benchmarks prints. */
type Figures = ReadonlyMap<string, number>;

async function runBench(checkout: string, parts: readonly string[]): Promise<Figures> {
  const child = spawn(process.execPath, ['tools/bench.ts', ...parts], {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>((done) => child.on('close', done));
  const output = await text(child.stdout);
  const code = await ended;
  if (code !== 0) throw new Error(`expected the benchmarks in ${checkout} to end with 0, got: ${code}`);
  return readTables(output);
}

/** `| 100 live | 253 k | … |` under `| gzip batches | events per CPU-s | … |` → "100 live, events per CPU-s" = 253000. */
function readTables(output: string): Figures {
  const figures = new Map<string, number>();
  let header: readonly string[] | undefined;
  for (const line of output.split('\n')) {
    const cells = line.startsWith('|')
      ? line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim())
      : undefined;
    if (cells === undefined) header = undefined;
    else if (header === undefined) header = cells;
    else {
      for (const [column, cell] of cells.entries()) {
        const value = figureOf(cell);
        if (column > 0 && value !== undefined) figures.set(`${cells[0]}, ${header[column]}`, value);
      }
    }
  }
  return figures;
}

function figureOf(cell: string): number | undefined {
  const [, digits, thousand] = /^\*{0,2}([\d,]+(?:\.\d+)?)\*{0,2}( k\b)?/.exec(cell) ?? [];
  if (digits === undefined) return undefined;
  return Number(digits.replaceAll(',', '')) * (thousand === undefined ? 1 : 1000);
}

function showRatios(ours: readonly Figures[], others: readonly Figures[]): void {
  console.log('| figure | this | other | this / other (min–max) |\n|---|---|---|---|');
  for (const name of ours[0]?.keys() ?? []) {
    const mine = ours.map((figures) => figures.get(name) ?? Number.NaN);
    const theirs = others.map((figures) => figures.get(name) ?? Number.NaN);
    const ratios = mine.map((value, round) => value / (theirs[round] ?? Number.NaN));
    const spread = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`;
    console.log(
      `| ${name} | ${median(mine).toPrecision(4)} | ${median(theirs).toPrecision(4)} | **${median(ratios).toFixed(2)}** (${spread}) |`,
    );
  }
}

const [checkout, ...rest] = process.argv.slice(2);
if (checkout === undefined) {
  console.error(
    'expected the path of another checkout, got none: npm run bench:beside -- <checkout> [rounds] [part …]',
  );
  process.exitCode = 2;
} else {
  const given = /^\d\d?$/.test(rest[0] ?? '') ? rest.shift() : undefined;
  const ours: Figures[] = [];
  const others: Figures[] = [];
  for (let round = 0; round < Number(given ?? roundsDefault); round++) {
    // The order alternates, so that neither benefits from the machine's caches.
    const turns = [() => runBench('.', rest).then((figures) => ours.push(figures))];
    turns.push(() => runBench(resolve(checkout), rest).then((figures) => others.push(figures)));
    if (round % 2 === 1) turns.reverse();
    for (const turn of turns) await turn();
  }
  showRatios(ours, others);
}
