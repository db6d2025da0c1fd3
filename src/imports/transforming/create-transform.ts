import type { EventOutcome, SandboxError } from '../../plugins/sandbox/sandbox.ts';
import type { CodeOutcome, Transform, TransformAbout, TransformFault } from '../transform.ts';
import type { Runner } from './runner.ts';

export interface TransformDeps extends TransformAbout {
  /** Sets the code up. Throws TransformError. */
  readonly openRunner: () => Promise<Runner>;
  /** Takes secrets out of a text. */
  readonly mask: (text: string) => string;
}

export function createTransform({ name, projectId, receivedAt, openRunner, mask }: TransformDeps): Transform {
  const told = (outcome: EventOutcome): CodeOutcome =>
    outcome.kind === 'failed'
      ? { kind: 'failed', code: faultOf(outcome.error), reason: mask(describe(outcome.error)) }
      : outcome;
  return {
    name,
    projectId,
    receivedAt,
    open: async () => {
      const runner = await openRunner();
      return {
        refused: runner.refused,
        run: async (events) => (await runner.run(events.map((event) => ({ ...event, markers: null })))).map(told),
        close: () => runner.close(),
      };
    },
  };
}

const stopped: ReadonlySet<SandboxError['kind']> = new Set(['time', 'memory', 'crashed']);

function faultOf(error: SandboxError): TransformFault {
  return stopped.has(error.kind) ? 'transform_stopped' : 'transform_failed';
}

const messageCharsMax = 500;

function describe({ kind, errorName, message }: SandboxError): string {
  const text = message.slice(0, messageCharsMax);
  return kind === 'thrown' ? `${errorName}: ${text}` : text;
}
