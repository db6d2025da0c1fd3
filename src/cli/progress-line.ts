import type { Output } from './terminal.ts';

/** Progress of a long command: one line that is redrawn on a terminal, otherwise a new line every few seconds. */
export interface ProgressLine {
  /** Writes a separate line above the one that is redrawn. */
  say(line: string): void;
  stop(): void;
}

const drawMs = 200;
const lineMs = 5000;
const barWidth = 24;

/** @param state returns the current line; called for each drawing */
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

/** Returns `[########        ]` for a share from 0 to 1. */
export function bar(share: number): string {
  const filled = Math.round(share * barWidth);
  return `[${'#'.repeat(filled)}${' '.repeat(barWidth - filled)}]`;
}

export function percent(share: number): string {
  return `${String(Math.floor(share * 100)).padStart(3)} %`;
}

/** Returns `0:31` or `2:46:30`. */
export function durationText(seconds: number): string {
  const whole = Math.ceil(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const rest = whole % 60;
  const tail = `${String(minutes).padStart(hours > 0 ? 2 : 1, '0')}:${String(rest).padStart(2, '0')}`;
  return hours > 0 ? `${hours}:${tail}` : tail;
}

/** Returns `120,000`. */
export function numberText(count: number): string {
  return count.toLocaleString('en-US');
}
