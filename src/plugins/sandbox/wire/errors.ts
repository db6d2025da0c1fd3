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

/** Converts an error from an isolate, whose fields are not trusted. */
export function toSandboxError(given: unknown): SandboxError {
  const sent = (typeof given === 'object' && given !== null ? given : {}) as Partial<Record<keyof WireError, unknown>>;
  const text = (value: unknown, longest: number): string => (typeof value === 'string' ? value.slice(0, longest) : '');
  const kind = kinds.has(sent.kind) ? (sent.kind as SandboxErrorKind) : 'thrown';
  return new SandboxError(kind, text(sent.message, 4000) || 'it failed without a message', {
    method: text(sent.method, 100),
    errorName: text(sent.errorName, 100) || 'Error',
    pluginStack: text(sent.stack, 8000),
    retry: sent.retry === true,
  });
}

export function wireError(kind: SandboxErrorKind, method: string, message: string): WireError {
  return { kind, message, method, errorName: 'Error', stack: '', retry: false };
}
