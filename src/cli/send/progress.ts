import type { Input } from './open-input.ts';
import type { Totals } from './totals.ts';

/** Says how far a long command has come: a bar on a terminal, else a line every few seconds. */
export interface Progress {
  /** A line of its own, above the bar. */
  say(line: string): void;
  stop(): void;
}

const barMs = 200;
const lineMs = 5000;
const barWidth = 24;

export function startProgress(
  input: Pick<Input, 'bytesRead' | 'bytesTotal'>,
  totals: Totals,
  out: NodeJS.WriteStream = process.stderr,
): Progress {
  const isTerminal = out.isTTY;
  const startedAt = Date.now();
  const state = (): string => progressText(input.bytesRead(), input.bytesTotal, totals, Date.now() - startedAt);
  const clear = (): void => void (isTerminal && out.write('\r\u001b[K'));
  const draw = (): void =>
    void out.write(isTerminal ? `\r\u001b[K${state().slice(0, (out.columns || 80) - 1)}` : `${state()}\n`);
  const timer = setInterval(draw, isTerminal ? barMs : lineMs);
  timer.unref();
  return {
    say: (line) => {
      clear();
      out.write(`${line}\n`);
    },
    stop: () => {
      clearInterval(timer);
      clear();
    },
  };
}

/** `[########        ]  42 %  120,000 events  5,300/s  ETA 0:31  3 rejected`; without a size, without bar and ETA. */
export function progressText(read: number, total: number | undefined, totals: Totals, elapsedMs: number): string {
  const done = totals.accepted + totals.rejected + totals.unreadable + totals.duplicates + totals.skipped;
  const seconds = Math.max(elapsedMs, 1) / 1000;
  const share = total === undefined || total === 0 ? undefined : Math.min(1, read / total);
  const bad = totals.rejected + totals.unreadable;
  return [
    ...(share === undefined ? [] : [bar(share), `${String(Math.floor(share * 100)).padStart(3)} %`]),
    `${done.toLocaleString('en-US')} events`,
    `${Math.round(done / seconds).toLocaleString('en-US')}/s`,
    ...(share === undefined || share === 0 || share === 1 ? [] : [`ETA ${clock((seconds * (1 - share)) / share)}`]),
    ...(bad === 0 ? [] : [`${bad.toLocaleString('en-US')} rejected`]),
    ...(totals.retries === 0 ? [] : [`${totals.retries} retries`]),
  ].join('  ');
}

function bar(share: number): string {
  const filled = Math.round(share * barWidth);
  return `[${'#'.repeat(filled)}${' '.repeat(barWidth - filled)}]`;
}

function clock(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  const tail = `${String(minutes).padStart(hours > 0 ? 2 : 1, '0')}:${String(rest).padStart(2, '0')}`;
  return hours > 0 ? `${hours}:${tail}` : tail;
}
