import { SandboxError, type SandboxErrorKind } from '../sandbox.ts';
import type { WireError } from './messages.ts';

const kinds: ReadonlySet<unknown> = new Set<SandboxErrorKind>([
  'load',
  'setup',
  'thrown',
  'result',
  'time',
  'memory',
  'crashed',
  'aborted',
]);

/** An error as an isolate tells it; nothing in it can be relied upon. */
export function toSandboxError(given: unknown): SandboxError {
  const told = (typeof given === 'object' && given !== null ? given : {}) as Partial<Record<keyof WireError, unknown>>;
  const text = (value: unknown, longest: number): string => (typeof value === 'string' ? value.slice(0, longest) : '');
  const kind = kinds.has(told.kind) ? (told.kind as SandboxErrorKind) : 'thrown';
  return new SandboxError(kind, text(told.message, 4000) || 'it failed without a message', {
    method: text(told.method, 100),
    errorName: text(told.errorName, 100) || 'Error',
    pluginStack: text(told.stack, 8000),
    retry: told.retry === true,
  });
}

export function wireError(kind: SandboxErrorKind, method: string, message: string): WireError {
  return { kind, message, method, errorName: 'Error', stack: '', retry: false };
}
