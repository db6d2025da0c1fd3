import { pino, type DestinationStream, type Logger } from 'pino';

export type Log = Logger;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

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
