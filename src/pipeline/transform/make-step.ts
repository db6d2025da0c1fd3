import { missingRequired, withDefaults } from '../../plugins/check-settings.ts';
import { MetadataUnreadError } from '../../stores/metadata/unread-error.ts';
import { readEventFilter, withoutEventFilter } from '../../plugins/event-filter.ts';
import type { Attachment, TransformationHost } from '../../plugins/host.ts';
import {
  SettingsError,
  type BatchTransformation,
  type Plugin,
  type Transformation,
  type TransformEvent,
} from '../../plugins/plugin.ts';
import type {
  InstanceServices,
  InstanceSpec,
  Sandbox,
  SandboxInstance,
  SandboxProgram,
  EventOutcome,
  SandboxError,
} from '../../plugins/sandbox/sandbox.ts';
import type { ChainEvent } from './chain-event.ts';
import { checkResult, InvalidResultError } from './run-chain.ts';
import { labelOf, type TransformConfig } from './transform-configs.ts';
import type { Step, StepOutcome } from './step.ts';
import { backoffMs } from '../../base/retry.ts';

/** The fields of a config that a step needs. */
export type StepConfig = Pick<
  TransformConfig,
  'id' | 'projectId' | 'slug' | 'pluginId' | 'pluginName' | 'pluginVersionId' | 'fields' | 'settings' | 'attached'
>;

export interface StepDeps extends Pick<InstanceSpec, 'callCharsMax' | 'requestsRefused'> {
  /** Finds a built-in plugin. */
  readonly findPlugin: (slug: string) => Plugin | undefined;
  readonly sandbox: Sandbox;
  /** Resolves with undefined if the version was deleted with its plugin. */
  readonly loadProgram: (versionId: number) => Promise<SandboxProgram | undefined>;
  readonly loadFiles: (configId: number) => Promise<ReadonlyMap<string, Attachment>>;
  readonly hostOf: (config: StepConfig, files: ReadonlyMap<string, Attachment>) => TransformationHost;
  readonly servicesOf: (config: StepConfig) => InstanceServices;
}

const noClose = async (): Promise<void> => {};

/**
 * Creates the step of a config.
 *
 * @param onSetup called when the setup of an installed plugin begins
 * @throws SettingsError or SandboxError with a sentence for the config's `error`; MetadataUnreadError
 */
export async function makeStep(config: StepConfig, deps: StepDeps, onSetup?: () => void): Promise<Step> {
  const missing = missingRequired(config.fields, config.settings, config.attached).map((key) => `"${key}"`);
  if (missing.length > 0) {
    throw new SettingsError(`missing required setting${missing.length > 1 ? 's' : ''} ${missing.join(', ')}`);
  }
  const filter = readEventFilter(config.settings);
  const step = await openStep({ ...config, settings: withoutEventFilter(config.settings) }, deps, onSetup);
  if (filter === undefined) return step;
  const accepts = (event: ChainEvent): boolean =>
    filter({ event: event.head.event, properties: event.result().properties });
  return { ...step, accepts };
}

async function openStep(config: StepConfig, deps: StepDeps, onSetup: (() => void) | undefined): Promise<Step> {
  const files = config.attached.size === 0 ? new Map<string, Attachment>() : await fromStore(deps.loadFiles(config.id));
  if (config.pluginVersionId !== null) {
    const open = (spec: InstanceSpec): Promise<SandboxInstance> => deps.sandbox.open(spec, onSetup);
    return openInstance(config, config.pluginVersionId, files, { ...deps, open });
  }
  return builtInStep(config, deps.findPlugin(config.slug), deps.hostOf(config, files));
}

async function fromStore<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (cause) {
    throw new MetadataUnreadError('failed to read a transformation from the store, retrying', { cause });
  }
}

function builtInStep(config: StepConfig, plugin: Plugin | undefined, host: TransformationHost): Step {
  if (plugin?.kind !== 'transformation') {
    throw new SettingsError(
      `expected the plugin "${config.slug}" to be a transformation of this version; upgrade or remove the config`,
    );
  }
  const made = plugin.create(withDefaults(plugin.fields, config.settings), host);
  const about = { configId: config.id, label: labelOf(config), close: noClose };
  return isDirect(made)
    ? { ...about, kind: 'direct', transform: made }
    : { ...about, kind: 'batch', run: (events) => runBuiltIn(made, events) };
}

function isDirect(made: Transformation | BatchTransformation): made is Transformation {
  return typeof made === 'function';
}

async function runBuiltIn(made: BatchTransformation, events: readonly ChainEvent[]): Promise<StepOutcome[]> {
  // Before the transformation gets the objects, which it may change.
  const befores = events.map(({ head: { timestamp, uuid } }) => ({ timestamp, uuid }));
  try {
    const results = await made.batch(events.map((event) => event.markedObject()));
    return events.map((event, index) => outcomeOf(event, results[index], befores[index] ?? event.head));
  } catch (error) {
    return events.map(() => ({ kind: 'failed', error }));
  }
}

function outcomeOf(
  event: ChainEvent,
  result: TransformEvent | null | Error | undefined,
  before: { readonly timestamp: string; readonly uuid: string },
): StepOutcome {
  if (result === null) return { kind: 'dropped' };
  if (result instanceof Error) return { kind: 'failed', error: result };
  if (result === undefined) return { kind: 'failed', error: new InvalidResultError('expected a result per event') };
  try {
    checkResult(result, before);
  } catch (error) {
    return { kind: 'failed', error };
  }
  event.object = result;
  return { kind: 'kept' };
}

async function openInstance(
  config: StepConfig,
  versionId: number,
  attachments: ReadonlyMap<string, Attachment>,
  { open, loadProgram, servicesOf, callCharsMax, requestsRefused }: StepDeps & Pick<Sandbox, 'open'>,
): Promise<Step> {
  const program = await fromStore(loadProgram(versionId));
  if (program === undefined)
    throw new SettingsError('its plugin was deleted; choose another plugin, or remove the config');
  const services = servicesOf(config);
  const label = labelOf(config);
  const instance = await open({
    ...program,
    configId: config.id,
    projectId: config.projectId,
    label,
    settings: withDefaults(config.fields, config.settings),
    attachments,
    services,
    callCharsMax,
    requestsRefused,
  });
  const suspension = createSuspension(services, () => performance.now());
  const run = (events: readonly ChainEvent[]): Promise<readonly StepOutcome[]> =>
    suspension.run(events.length, (from, to) =>
      instance.processEvents(events.slice(from, to).map((event) => event.forSandbox())),
    );
  const { trouble } = suspension;
  return { kind: 'batch', configId: config.id, label, run, trouble, close: () => instance.close() };
}

/** Consecutive events that exceeded their time or crashed their process, after which a plugin is suspended. */
const wastedMax = 3;
const firstPauseMs = 5000;
/** A pause is at least this many times as long as the delay before it, which therefore costs at most a tenth of the time. */
const pausePerLoss = 9;
const pauseMsMax = 300_000;

/**
 * Prevents a plugin that hangs or crashes from delaying all events: after three such events in a row the plugin is suspended for
 * 5 s, or nine times the delay that it caused if that is longer, and then tried with one event; the pause doubles each time, up
 * to 5 min. Events that pass in the meantime count as skipped. The plugin's log and its config's error report it.
 */
interface Suspension {
  /** Why the plugin is suspended; empty: it is not. */
  trouble(): string;
  run(count: number, work: Work): Promise<readonly StepOutcome[]>;
}

/** Runs events [from, to). */
type Work = (from: number, to: number) => Promise<readonly EventOutcome[]>;

/** @param now a monotonic clock, ms */
export function createSuspension(services: Pick<InstanceServices, 'log'>, now: () => number): Suspension {
  let until = 0;
  let pauses = 0;
  let wasted = 0;
  let cause = '';

  const note = (outcomes: readonly EventOutcome[], tookMs: number): void => {
    for (const outcome of outcomes) {
      const waste = wasteOf(outcome);
      wasted = waste === undefined ? 0 : wasted + 1;
      if (wasted === 1) cause = waste?.message ?? '';
    }
    if (wasted < wastedMax) {
      if (wasted === 0 && outcomes.length > 0) pauses = until = 0;
      return;
    }
    const pauseMs = Math.max(backoffMs(pauses, firstPauseMs, pauseMsMax), Math.min(tookMs * pausePerLoss, pauseMsMax));
    until = now() + pauseMs;
    pauses += 1;
    services.log({
      time: Date.now(),
      level: 'ERROR',
      source: 'SYSTEM',
      message: `suspended for ${Math.round(pauseMs / 1000)} s, events pass unchanged: ${cause}`,
      instanceId: '',
    });
  };

  const timed = async (from: number, to: number, work: Work): Promise<readonly EventOutcome[]> => {
    const startedAt = now();
    const outcomes = await work(from, to);
    note(outcomes, now() - startedAt);
    return outcomes;
  };

  return {
    trouble: () => (until > 0 ? `suspended, events pass unchanged: ${cause}` : ''),
    run: async (count, work) => {
      if (now() < until) return skipped(count);
      if (wasted < wastedMax) return timed(0, count, work);
      // After a pause, one event shows whether the plugin has recovered.
      const first = await timed(0, 1, work);
      if (wasted > 0) return [...first, ...skipped(count - 1)];
      return count > 1 ? [...first, ...(await timed(1, count, work))] : first;
    },
  };
}

function skipped(count: number): StepOutcome[] {
  return Array.from({ length: count }, () => ({ kind: 'skipped' }));
}

function wasteOf(outcome: EventOutcome): SandboxError | undefined {
  if (outcome.kind !== 'failed') return undefined;
  return ['time', 'memory', 'crashed'].includes(outcome.error.kind) ? outcome.error : undefined;
}
