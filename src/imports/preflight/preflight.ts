/** Checks before an import fetches anything: all concurrently, within one time limit. */
import type { Clock } from '../../base/clock.ts';
import type { PreflightCheckName, PreflightFinding, PreflightResult } from '../../wire/contract/import-preflight.ts';
import type { RunOptions } from '../run/run.ts';
import { checkAgreement } from './check-agreement.ts';
import { checkClock } from './check-clock.ts';
import { checkPersonalKey } from './check-personal-key.ts';
import { checkProjectKey } from './check-project-key.ts';
import { checkRetention } from './check-retention.ts';
import { checkSettings } from './check-settings.ts';
import { checkSource } from './check-source.ts';
import { checkStaging } from './check-staging.ts';
import { checkStore } from './check-store.ts';
import { checkTarget } from './check-target.ts';
import { checkTransform } from './check-transform.ts';
import { warning, type Finding, type PreflightCheck } from './findings.ts';
import type { PreflightContext, PreflightDeps } from './preflight-context.ts';
import { sampleSource } from './sample-source.ts';

const late = Symbol('late');

/** In the order in which their findings are shown. */
const checks: readonly PreflightCheck[] = [
  checkSettings,
  checkTarget,
  checkProjectKey,
  checkPersonalKey,
  checkAgreement,
  checkRetention,
  checkClock,
  checkStaging,
  checkStore,
  checkSource,
  checkTransform,
];

/** Share of that time in which checks may wait for an estimate of the source. */
const estimateShare = 0.8;

interface PreflightRequest {
  readonly options: RunOptions;
  /** Checks to skip, for example for a run that has its records. */
  readonly without?: readonly PreflightCheckName[];
  /** Aborts the preflight. */
  readonly signal: AbortSignal;
}

export type Preflight = (request: PreflightRequest) => Promise<PreflightResult>;

export interface CreatePreflightDeps extends PreflightDeps {
  readonly clock: Clock;
  /** Limit for all checks together. A user waits for it; what does not answer a small request by then counts as unavailable. */
  readonly timeLimitMs: number;
}

/** Creates a preflight. It rejects with the signal's reason only: errors in checks become findings. */
export function createPreflight(deps: CreatePreflightDeps): Preflight {
  const { timeLimitMs: limitMs } = deps;
  return async ({ options, without = [], signal }) => {
    const begun = performance.now();
    const stop = new AbortController();
    const time = startTimer(limitMs);
    const early = startTimer(limitMs * estimateShare);
    const context = contextOf(deps, options, { signal: AbortSignal.any([signal, stop.signal]), early: early.over });
    try {
      const selected = checks.filter(({ name }) => !without.includes(name));
      const found = await Promise.all(selected.map((check) => findingsOf(check, context, time.over, limitMs / 1000)));
      signal.throwIfAborted();
      return resultOf(found.flat(), performance.now() - begun);
    } finally {
      time.stop();
      early.stop();
      stop.abort(new Error('the preflight has ended'));
    }
  };
}

interface Limits {
  readonly signal: AbortSignal;
  /** Resolves when checks stop waiting for an estimate. */
  readonly early: Promise<typeof late>;
}

function contextOf(deps: CreatePreflightDeps, options: RunOptions, { signal, early }: Limits): PreflightContext {
  const sample = once(async () => sampleSource(await deps.openSource(), options, signal));
  const sampled = () =>
    sample().then(
      (found) => found,
      () => undefined,
    );
  const target = once(deps.openTarget);
  const probe = async () => (await target())?.probe;
  return {
    deps,
    options,
    words: deps.words,
    signal,
    now: () => deps.clock.now(),
    target,
    endpoint: once(async () => (await probe())?.endpoint(signal)),
    projectKey: once(async () => (await probe())?.projectKey(signal)),
    reader: once(async () => (await probe())?.reader(signal)),
    sample,
    estimate: once(async () => {
      const found = await Promise.race([sampled(), early]);
      return found === late ? undefined : found;
    }),
  };
}

/** Runs the work once and shares its promise. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= work());
}

function startTimer(ms: number): { readonly over: Promise<typeof late>; stop(): void } {
  const { promise, resolve } = Promise.withResolvers<typeof late>();
  const timer = setTimeout(() => resolve(late), ms);
  return { over: promise, stop: () => clearTimeout(timer) };
}

async function findingsOf(
  check: PreflightCheck,
  context: PreflightContext,
  over: Promise<typeof late>,
  seconds: number,
): Promise<readonly PreflightFinding[]> {
  const named = (finding: Finding): PreflightFinding => ({ check: check.name, ...finding });
  try {
    const found = await Promise.race([check.run(context), over]);
    return found === late ? [named(check.late(context, seconds))] : found.map(named);
  } catch (error) {
    // The run would hit the same error and report it; here it only prevents a check.
    const reason = error instanceof Error ? error.message : String(error);
    return [named(warning('check_failed', `the check failed: ${reason}`, null))];
  }
}

const order = ['problem', 'warning', 'fine'] as const;

function resultOf(found: readonly PreflightFinding[], tookMs: number): PreflightResult {
  const findings = order.flatMap((level) => found.filter((finding) => finding.level === level));
  const verdict = findings[0]?.level === 'problem' ? 'failed' : 'passed';
  return { verdict, took_ms: Math.round(tookMs), findings };
}
