import type { Bridge } from './bridge.ts';

type GuestConsole = Readonly<Record<'log' | 'info' | 'warn' | 'error' | 'debug', (...parts: unknown[]) => void>>;

export function createConsole(bridge: Bridge): GuestConsole {
  const at =
    (level: string) =>
    (...parts: unknown[]): void => {
      bridge.callSync('log', [level, parts.map(formatPart).join(' ')]);
    };
  return { log: at('LOG'), info: at('INFO'), warn: at('WARN'), error: at('ERROR'), debug: at('DEBUG') };
}

/** Formats plain objects and arrays as JSON, everything else as text. Logging never throws. */
function formatPart(part: unknown): string {
  try {
    return isPlain(part) ? (JSON.stringify(part) ?? String(part)) : String(part);
  } catch {
    return placeholderOf(part);
  }
}

function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** For circular objects and those that refuse to become text. */
function placeholderOf(part: unknown): string {
  return Array.isArray(part)
    ? '[array that cannot be written as JSON]'
    : `[${typeof part} that cannot be written as text]`;
}
