import { writeSync } from 'node:fs';
import { pino, type DestinationStream, type Logger } from 'pino';

export type Log = Logger;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** How long a line waits for a reader of stderr that is behind, and between two looks at it. */
const readerMsMax = 200;
const pollMs = 5;

/**
 * Stderr of the process, from any thread. A line that it does not take (a file on a full disk, a reader that has stopped) is
 * dropped, and told. Past process.stderr, which ends the process on such an error, and in a thread goes through the main one's.
 */
export function stderrLines(onDropped: () => void, fd = 2): DestinationStream {
  let isTorn = false;
  let isStuck = false;
  return {
    write: (line) => {
      const bytes = Buffer.from(isTorn ? `\n${line}` : line);
      const until = performance.now() + (isStuck ? 0 : readerMsMax);
      let written = 0;
      try {
        while (written < bytes.length) written += writeSome(fd, bytes.subarray(written), until);
        isTorn = false;
        isStuck = false;
      } catch {
        isTorn ||= written > 0;
        isStuck = true;
        onDropped();
      }
    },
  };
}

/** A pipe that is full says so instead of waiting when Node has opened it, too. */
function writeSome(fd: number, bytes: Uint8Array, until: number): number {
  for (;;) {
    try {
      return writeSync(fd, bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() >= until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pollMs);
    }
  }
}

/**
 * JSON lines on stderr (stdout belongs to what a person asked for). What could carry a secret is removed by name here,
 * and never logged in the first place. Levels: error = an operator must act; warn = look soon; info = life cycle; debug = the rest.
 */
export function createLog(level: LogLevel, destination: DestinationStream = process.stderr): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: [
          'authorization',
          '*.authorization',
          'api_key',
          '*.api_key',
          'token',
          '*.token',
          'password',
          '*.password',
          'cookie',
          '*.cookie',
          'settings',
          '*.settings',
        ],
        censor: '[redacted]',
      },
    },
    destination,
  );
}

/** Where to tell an operator; a telemetry Log is one. */
export interface WarnLog {
  warn(about: object, message: string): void;
}
