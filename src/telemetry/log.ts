import { pino, type DestinationStream, type Logger } from 'pino';

export type Log = Logger;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Log lines kept while they cannot be written, in characters. */
const unwrittenMax = 262_144;

/**
 * Stderr of the process, from any thread. Where it takes nothing (a file on a full disk) lines are kept for later; those that
 * are too many are dropped, and told.
 */
export function stderrLines(onDropped: () => void): DestinationStream {
  // Past process.stderr: it ends the process on such an error, and in a thread it goes through the main thread's.
  const lines = pino.destination({ fd: 2, sync: true, maxLength: unwrittenMax });
  lines.on('drop', onDropped);
  // There is nowhere left to say it but the metric.
  lines.on('error', () => undefined);
  return lines;
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
