import type { SettingValues } from '../../plugins/fields.ts';
import type { Attachment } from '../../plugins/host.ts';
import {
  SandboxError,
  type EventOutcome,
  type Sandbox,
  type SandboxInstance,
  type SandboxProgram,
  type SandboxEvent,
} from '../../plugins/sandbox/sandbox.ts';
import { TransformError } from '../transform.ts';
import { importServices } from './import-services.ts';

interface SandboxRunnerDeps {
  readonly sandbox: Pick<Sandbox, 'open'>;
  readonly program: SandboxProgram;
  readonly name: string;
  readonly configId: number;
  readonly projectId: number;
  /** With defaults. */
  readonly settings: SettingValues;
  readonly attachments: ReadonlyMap<string, Attachment>;
  /** ms since the epoch. */
  readonly now: () => number;
  /** Masks secrets in a text. */
  readonly mask: (text: string) => string;
}

/** After this many events in a row that used up their time or crashed their process, the rest of the run would not succeed either. */
const wastedInRowMax = 20;
/** After this many the sandbox does not try the remaining events of a batch. */
const triedInRow = 3;

/** Opens a separate isolate for one segment. Throws TransformError. */
export async function openSandboxRunner(deps: SandboxRunnerDeps): Promise<Runner> {
  const { sandbox, program, name, configId, projectId, settings, attachments, mask } = deps;
  const { services, refused } = importServices(deps.now);
  const instance = await opened(
    () => sandbox.open({ ...program, configId, projectId, label: name, settings, attachments, services }),
    { name, mask },
  );
  if (!instance.described.methods.some((method) => method.startsWith('processEvent'))) {
    await instance.close();
    throw new TransformError(
      `expected the transform "${name}" to export processEvent, which gets an event and returns it, or null to drop it; ` +
        `it exports: ${instance.described.methods.join(', ') || 'nothing'}`,
    );
  }
  return { refused, run: createTrier(instance, name), close: () => instance.close() };
}

async function opened(
  open: () => Promise<SandboxInstance>,
  { name, mask }: Pick<SandboxRunnerDeps, 'name' | 'mask'>,
): Promise<SandboxInstance> {
  try {
    return await open();
  } catch (cause) {
    if (!(cause instanceof SandboxError)) throw cause;
    const isWorthRetry = cause.retry || cause.kind === 'crashed' || cause.kind === 'aborted';
    const what = cause.kind === 'load' ? 'cannot be loaded' : 'cannot be set up';
    throw new TransformError(`the transform "${name}" ${what}: ${mask(cause.message)}`, { retry: isWorthRetry, cause });
  }
}

/** Tries every event regardless of earlier outcomes: whether an event is accepted must not depend on others in its batch. */
function createTrier(instance: SandboxInstance, name: string): Runner['run'] {
  let inRow = 0;
  return async (events) => {
    const outcomes: EventOutcome[] = [];
    while (outcomes.length < events.length) {
      const found = await instance.processEvents(events.slice(outcomes.length));
      // The sandbox does not try the rest after some in a row.
      const untried = Math.max(0, wastedAtEnd(found) - triedInRow);
      const tried = found.slice(0, found.length - untried);
      const wasted = wastedAtEnd(tried);
      inRow = wasted === tried.length ? inRow + wasted : wasted;
      if (tried.length === 0 || inRow >= wastedInRowMax) throw stuck(name, inRow, tried.at(-1));
      outcomes.push(...tried);
    }
    return outcomes;
  };
}

const wasting: ReadonlySet<SandboxError['kind']> = new Set(['time', 'memory', 'crashed']);

function wastedAtEnd(outcomes: readonly EventOutcome[]): number {
  return outcomes.length - 1 - outcomes.findLastIndex((outcome) => !isWasted(outcome));
}

function isWasted(outcome: EventOutcome): boolean {
  if (outcome.kind !== 'failed') return false;
  // Closing the sandbox stops the run; the event is not at fault.
  if (outcome.error.kind === 'aborted') throw new TransformError(outcome.error.message, { retry: true });
  return wasting.has(outcome.error.kind);
}

function stuck(name: string, events: number, last: EventOutcome | undefined): TransformError {
  const why = last?.kind === 'failed' ? last.error.message : 'it returned no results';
  return new TransformError(`the transform "${name}" was stopped at ${events} events in a row: ${why}`);
}

/** Running code, sandboxed or built in: returns an outcome for each event, in their order. */
export interface Runner {
  /** Throws TransformError if the code cannot run at all. */
  run(events: readonly SandboxEvent[]): Promise<readonly EventOutcome[]>;
  readonly refused: ReadonlySet<string>;
  close(): Promise<void>;
}
