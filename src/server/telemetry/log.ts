import { writeSync } from 'node:fs';
import { pino, type DestinationStream, type Logger } from 'pino';

export type Log = Logger;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Time limit for a slow reader of stderr, and the interval of retries. */
const readerMsMax = 200;
const pollMs = 5;

/**
 * Writes lines to the process's stderr from any thread. Lines that it does not accept (full disk, stopped reader) are dropped and
 * counted. Bypasses process.stderr, which ends the process on such errors and in a thread goes through the main thread.
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

/** Writes without blocking: a full pipe that Node opened returns EAGAIN. */
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
 * JSON lines on stderr; stdout is reserved for command output. Fields that could contain secrets are removed by name here and
 * never logged anyway. Levels: error = operator must act; warn = check soon; info = life cycle; debug = the rest.
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

/** The part of Log that most components need. */
export interface WarnLog {
  warn(about: object, message: string): void;
}
