import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { CommandProcess } from './terminal.ts';
import { stopSignal } from './stop-signal.ts';

function started() {
  let now = 5_000;
  const signals = new EventEmitter();
  const exits: number[] = [];
  const process = {
    on: signals.on.bind(signals),
    off: signals.off.bind(signals),
    exit: (code: number) => exits.push(code),
  } as unknown as CommandProcess;
  const stop = stopSignal(process, () => now);
  return {
    stop,
    exits,
    /** One Ctrl-C, so many times. */
    press: (times: number) => Array.from({ length: times }, () => signals.emit('SIGINT', 'SIGINT')),
    wait: (ms: number) => (now += ms),
  };
}

describe('a stop signal', () => {
  it('one Ctrl-C forwarded by npx and the launcher stops once, and does not end the process', () => {
    const { stop, exits, press, wait } = started();
    press(1);
    wait(400);
    press(2);
    expect([stop.signal.aborted, exits]).toEqual([true, []]);
  });

  it('a second Ctrl-C ends the process immediately', () => {
    const { exits, press, wait } = started();
    press(2);
    wait(1_500);
    press(1);
    expect(exits).toEqual([130]);
  });
});
