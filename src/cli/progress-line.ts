import type { Output } from './command-process.ts';

/** How long commands say how far they have come: a line that is drawn over on a terminal, else a line every few seconds. */
export interface ProgressLine {
  /** A line of its own, above the one that is drawn over. */
  say(line: string): void;
  stop(): void;
}

const drawMs = 200;
const lineMs = 5000;
const barWidth = 24;

/** `state` gives the line as it is now; asked for on every drawing. */
export function startProgressLine(state: () => string, out: Output): ProgressLine {
  const isTerminal = out.isTTY === true;
  const clear = (): void => void (isTerminal && out.write('\r\u001b[K'));
  const draw = (): void =>
    void out.write(isTerminal ? `\r\u001b[K${state().slice(0, (out.columns || 80) - 1)}` : `${state()}\n`);
  const timer = setInterval(draw, isTerminal ? drawMs : lineMs);
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

/** `[########        ]` for a share from 0 to 1. */
export function bar(share: number): string {
  const filled = Math.round(share * barWidth);
  return `[${'#'.repeat(filled)}${' '.repeat(barWidth - filled)}]`;
}

export function percent(share: number): string {
  return `${String(Math.floor(share * 100)).padStart(3)} %`;
}

/** `0:31`, `2:46:30`. */
export function durationText(seconds: number): string {
  const whole = Math.ceil(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const rest = whole % 60;
  const tail = `${String(minutes).padStart(hours > 0 ? 2 : 1, '0')}:${String(rest).padStart(2, '0')}`;
  return hours > 0 ? `${hours}:${tail}` : tail;
}

/** `120,000`. */
export function numberText(count: number): string {
  return count.toLocaleString('en-US');
}
