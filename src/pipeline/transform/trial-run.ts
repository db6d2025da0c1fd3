import type { PluginCache, PluginStorage, TransformationHost } from '../../plugins/host.ts';
import type { OutboundFetch } from '../../plugins/outbound/outbound.ts';
import { refuseRequest } from '../../plugins/outbound/refuse-requests.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { SandboxError, type InstanceServices, type SandboxProgram } from '../../plugins/sandbox/sandbox.ts';
import { ChainEvent } from './chain-event.ts';
import { runChain } from './run-chain.ts';
import { diffJson, type Difference } from './diff-json.ts';
import { makeStep, type StepConfig, type StepDeps } from './make-step.ts';
import type { Step } from './step.ts';
import { withoutMarkers, type TrialEvent } from './trial-event.ts';
import { trialCallCharsMax, TrialBudget } from './trial-budget.ts';
import { trialServices, type TrialEffects } from './trial-services.ts';
import { withDefaults } from '../../plugins/check-settings.ts';
import { secretMask } from '../../plugins/fields.ts';
import { secretTexts, withoutSecrets } from '../../plugins/mask-secrets.ts';

/**
 * Dependencies of a trial. Outbound requests are really sent unless they are refused (`requestsRefused`); everything else stays in the
 * trial.
 */
export interface TrialDeps extends Omit<StepDeps, 'hostOf' | 'servicesOf'> {
  /** The config's storage, for reading only. */
  readonly storageOf: (config: StepConfig) => PluginStorage;
  /** Opens an empty cache for one trial, by plugin and project. */
  readonly openCache: () => (config: StepConfig) => PluginCache;
  readonly fetch: OutboundFetch;
  readonly geoip: Pick<TransformationHost, 'geoip' | 'geoipProblem'>;
  /** Maximum duration of one trial, ms. */
  readonly taskMs: number;
  /** ms since the epoch. */
  readonly now: () => number;
}

/** Program of an installed plugin, or of code that is only tried. */
export type TrialProgram = SandboxProgram;

export interface TrialConfig extends StepConfig {
  /** Its name for users. */
  readonly name: string;
  /** Whether it transforms events. Otherwise it only observes (onEvent, exportEvents), and there is nothing to try. */
  readonly isStep: boolean;
}

export type TrialOutcome = 'kept' | 'dropped' | 'failed' | 'skipped';

/** Contains no secret of the config. */
export interface TrialError {
  readonly name: string;
  readonly message: string;
  /** The stack in the plugin's code; empty for built-ins. */
  readonly stack: string;
}

export interface TrialStepResult extends TrialEffects {
  readonly configId: number;
  readonly name: string;
  /** Skipped: nothing to try, or no time left. */
  readonly outcome: TrialOutcome;
  /** The event after the step; null: dropped. */
  readonly after: TrialEvent | null;
  /** What it changed, without the markers of configs that ran. */
  readonly diff: readonly Difference[];
  readonly error: TrialError | null;
  /** Excludes loading and setup. */
  readonly timeMs: number;
  /** Parts that are incomplete, since a trial shows at most `trialCharsMax` characters. */
  readonly truncated: readonly Truncated[];
}

export type Truncated = 'before' | 'after' | 'diff' | keyof TrialEffects;

export interface TrialResult {
  readonly before: TrialEvent;
  readonly after: TrialEvent | null;
  /** Failed: one of the steps failed, and the event is stored as the others changed it. */
  readonly outcome: TrialOutcome;
  readonly steps: readonly TrialStepResult[];
  /** Which of `before` and `after` is shown without its properties, see TrialStepResult. */
  readonly truncated: readonly Truncated[];
}

/** Configs that are opened once for several events. */
export interface Trial {
  /** Runs one event at a time. Never rejects because of a plugin or its settings: the results report that. */
  run(event: TrialEvent): Promise<TrialResult>;
  close(): Promise<void>;
}

/** Tries one event, see `openTrial`. */
export async function runTrial(
  deps: TrialDeps,
  configs: readonly TrialConfig[],
  event: TrialEvent,
): Promise<TrialResult> {
  const trial = openTrial(deps, configs);
  try {
    return await trial.run(event);
  } finally {
    void trial.close();
  }
}

/**
 * Opens a trial that runs the configs in order with the code of the pipeline, and shows everything that each of them does to an
 * event. It has no lasting effect. Each config is set up when the first event reaches it.
 */
export function openTrial(deps: TrialDeps, configs: readonly TrialConfig[]): Trial {
  const cacheOf = deps.openCache();
  const budget = new TrialBudget();
  const { hideEvent, hideDiff } = maskShown(configs);
  const subjects = configs.map((config) => openSubject(deps, config, cacheOf(config), budget));
  return {
    run: async (before) => {
      const endsAt = performance.now() + deps.taskMs;
      const steps: TrialStepResult[] = [];
      let event: TrialEvent | null = before;
      budget.reset();
      const shownBefore = fitted(before, budget);
      for (const subject of subjects) {
        if (event === null) break;
        const ran: SubjectRun = await subject.run(event, endsAt);
        const { after, diff } = ran.result;
        steps.push({ ...ran.result, after: after && hideEvent(after), diff: hideDiff(diff) });
        event = ran.after;
      }
      const shownAfter = event && fitted(event, budget);
      const truncated: Truncated[] = [];
      if (shownBefore !== before) truncated.push('before');
      if (shownAfter !== event) truncated.push('after');
      const after = shownAfter && hideEvent(shownAfter);
      return { before: shownBefore, after, outcome: overall(steps), steps, truncated };
    },
    close: async () => void (await Promise.all(subjects.map((subject) => subject.close()))),
  };
}

function overall(steps: readonly TrialStepResult[]): TrialOutcome {
  if (steps.at(-1)?.outcome === 'dropped') return 'dropped';
  if (steps.some(({ outcome }) => outcome === 'failed')) return 'failed';
  return steps.length > 0 && steps.every(({ outcome }) => outcome === 'skipped') ? 'skipped' : 'kept';
}

/** Characters of the name and the id of an event that is too large. */
const headCharsMax = 400;

/** Returns the event, without its properties if they exceed the budget. */
function fitted(event: TrialEvent, budget: TrialBudget): TrialEvent {
  if (budget.takes(event)) return event;
  const { event: name, distinct_id: distinctId } = event;
  const head = { event: name.slice(0, headCharsMax), distinct_id: distinctId.slice(0, headCharsMax) };
  return { ...event, ...head, properties: {} };
}

interface SubjectRun {
  readonly result: TrialStepResult;
  /** The complete event, which the next step gets. */
  readonly after: TrialEvent | null;
}

interface Subject {
  /** @param endsAt deadline by performance.now() */
  run(event: TrialEvent, endsAt: number): Promise<SubjectRun>;
  close(): Promise<void>;
}

function openSubject(deps: TrialDeps, config: TrialConfig, cache: PluginCache, budget: TrialBudget): Subject {
  const { services, takeEffects } = trialServices(deps.storageOf(config), cache, budget);
  let opening: Promise<Step> | undefined;
  const open = (): Promise<Step> =>
    (opening ??= makeStep(config, { ...deps, ...stepServices(deps, services), callCharsMax: trialCallCharsMax }));
  return {
    run: async (before, endsAt) => {
      const { error, after, diff, ...run } = await runOne(deps, config, { before, endsAt, open });
      const { truncated: effectsTruncated, ...effects } = takeEffects();
      const truncated: Truncated[] = [...effectsTruncated];
      const shownAfter = after && fitted(after, budget);
      if (shownAfter !== after) truncated.push('after');
      const isDiffShown = shownAfter === after && budget.takes(...diff);
      if (!isDiffShown) truncated.push('diff');
      const result: TrialStepResult = {
        configId: config.id,
        name: config.name,
        ...run,
        after: shownAfter,
        diff: isDiffShown ? diff : [],
        error: error === undefined ? null : describeError(config, error),
        ...maskEffects(config, effects),
        truncated,
      };
      return { result, after };
    },
    // Work in progress ends by its own limits and is then closed. A failure to open was reported as the config's error.
    close: async () => opening?.then((step) => step.close()).catch(() => undefined),
  };
}

interface OneRun extends Pick<TrialStepResult, 'outcome' | 'after' | 'diff' | 'timeMs'> {
  readonly error: unknown;
}

async function runOne(
  deps: TrialDeps,
  config: TrialConfig,
  { before, endsAt, open }: { before: TrialEvent; endsAt: number; open: () => Promise<Step> },
): Promise<OneRun> {
  const untouched = { after: before, diff: [], timeMs: 0 };
  if (performance.now() >= endsAt) {
    const error = new TrialTimeError('no time was left for this config');
    return { ...untouched, outcome: 'skipped', error };
  }
  if (!config.isStep) {
    const detail = 'this plugin only observes events (onEvent, exportEvents); a test would send them';
    return { ...untouched, outcome: 'skipped', error: new Error(detail) };
  }
  try {
    const step = await inTime(open(), endsAt);
    return await runStep(step, toChainEvent(before, config.projectId, deps.now()), before, endsAt);
  } catch (error) {
    return { ...untouched, outcome: 'failed', error };
  }
}

function stepServices(deps: TrialDeps, services: InstanceServices): Pick<StepDeps, 'hostOf' | 'servicesOf'> {
  const { storage, cache } = services;
  const { geoip, now } = deps;
  const fetch = deps.requestsRefused === true ? refuseRequest : deps.fetch;
  return {
    servicesOf: () => services,
    hostOf: ({ id: configId, projectId }, attachments) => ({
      projectId,
      configId,
      attachments,
      storage,
      cache,
      fetch,
      geoip: geoip.geoip,
      geoipProblem: geoip.geoipProblem,
      now,
    }),
  };
}

async function runStep(step: Step, event: ChainEvent, before: TrialEvent, endsAt: number): Promise<OneRun> {
  let outcome: TrialOutcome = 'kept';
  let error: unknown;
  let timeMs = 0;
  const running = runChain([step], [event], {
    succeeded: () => {},
    dropped: () => void (outcome = 'dropped'),
    skipped: () => {
      outcome = 'skipped';
      error = new Error('the event does not pass "$filter"');
    },
    failed: (_step, thrown) => {
      outcome = 'failed';
      error = thrown;
    },
    took: (_step, ms) => void (timeMs += ms),
  });
  await inTime(running, endsAt);
  const after = event.droppedBy === undefined ? shown(event) : null;
  const diff = after === null ? [] : diffJson(withoutMarkers(before), withoutMarkers(after));
  return { outcome, after, diff, timeMs, error };
}

class TrialTimeError extends Error {
  override name = 'TimeoutError';
}

/** @throws TrialTimeError */
async function inTime<T>(work: Promise<T>, endsAt: number): Promise<T> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const onTimeout = (): void => reject(new TrialTimeError('the test exceeded the time limit of a task'));
  // Timers truncate to milliseconds, and may fire early by another one.
  const timer = setTimeout(onTimeout, Math.max(0, Math.ceil(endsAt - performance.now())) + 1);
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

function toChainEvent(event: TrialEvent, teamId: number, receivedAt: number): ChainEvent {
  const { uuid, event: name, distinct_id: distinctId, timestamp, properties } = event;
  const head = { uuid, event: name, distinctId, timestamp, teamId, receivedAt };
  return new ChainEvent(head, structuredClone(properties), null);
}

/** Copies the current event. */
function shown(event: ChainEvent): TrialEvent {
  const { uuid, event: name, distinctId, timestamp } = event.head;
  const properties = JSON.parse(event.text) as JsonObject;
  return { uuid, event: name, distinct_id: distinctId, timestamp, properties };
}

/** Maximum length of a message or a stack. */
const errorCharsMax = 10_000;

function describeError(config: StepConfig, error: unknown): TrialError {
  const maskText = maskOf(config);
  const mask = (text: string): string => maskText(text).slice(0, errorCharsMax);
  if (error instanceof SandboxError) {
    return { name: error.errorName, message: mask(error.message), stack: mask(error.pluginStack) };
  }
  if (error instanceof Error) return { name: error.name, message: mask(error.message), stack: '' };
  return { name: 'Error', message: mask(String(error)), stack: '' };
}

function maskEffects(config: StepConfig, effects: TrialEffects): TrialEffects {
  const mask = maskOf(config);
  const maskJson = <T extends JsonValue>(value: T): T => maskTexts(value, mask) as T;
  return {
    logs: effects.logs.map((line) => ({ ...line, message: mask(line.message) })),
    captured: effects.captured.map((each) => ({ ...each, properties: maskJson(each.properties) })),
    jobs: effects.jobs.map((each) => ({ ...each, payload: maskJson(each.payload) })),
    storage: maskJson({ ...effects.storage }),
    metrics: effects.metrics,
  };
}

/** Masks secrets in a plugin's logs, errors and storage. */
function maskOf({ fields, settings }: StepConfig): (text: string) => string {
  const values = withDefaults(fields, settings);
  return (text) => withoutSecrets(text, fields, values);
}

/** Masks secrets in events: the secret of one config may appear in the result of a later one. Without secrets nothing is masked. */
function maskShown(configs: readonly StepConfig[]): {
  readonly hideEvent: (event: TrialEvent) => TrialEvent;
  readonly hideDiff: (diff: readonly Difference[]) => readonly Difference[];
} {
  const secrets = configs.flatMap(({ fields, settings }) => secretTexts(fields, withDefaults(fields, settings)));
  if (secrets.length === 0) return { hideEvent: (event) => event, hideDiff: (diff) => diff };
  const hide = (text: string): string => secrets.reduce((safe, secret) => safe.replaceAll(secret, secretMask), text);
  const hideAll = <T extends JsonValue>(value: T): T => maskTexts(value, hide) as T;
  return {
    hideEvent: (event) => hideAll(event),
    hideDiff: (diff) => diff.map((each) => hideAll({ ...each }) as Difference),
  };
}

function maskTexts(value: JsonValue, mask: (text: string) => string): JsonValue {
  if (typeof value === 'string') return mask(value);
  if (Array.isArray(value)) return value.map((each) => maskTexts(each, mask));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, maskTexts(each, mask)]));
}
