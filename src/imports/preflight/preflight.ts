/** What is looked at before an import fetches anything: every check side by side, within one limit of time. */
import type { Clock } from '../../base/clock.ts';
import type { PreflightCheckName, PreflightFinding, PreflightResult } from '../../wire/contract/import-preflight.ts';
import type { RunOptions } from '../run/run.ts';
import { checkAgreement } from './check-agreement.ts';
import { checkClock } from './check-clock.ts';
import { checkPersonalKey } from './check-personal-key.ts';
import { checkProjectKey } from './check-project-key.ts';
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
  checkClock,
  checkStaging,
  checkStore,
  checkSource,
  checkTransform,
];

/** Of that time, for what some checks would like to know of the source. */
const estimateShare = 0.8;

export interface PreflightAsked {
  readonly options: RunOptions;
  /** Checks that are left out: of a run that has its records, say. */
  readonly without?: readonly PreflightCheckName[];
  /** Ends it early. */
  readonly signal: AbortSignal;
}

export type Preflight = (asked: PreflightAsked) => Promise<PreflightResult>;

export interface CreatePreflightDeps extends PreflightDeps {
  readonly clock: Clock;
  /** Of all checks together. A person waits for it; what does not answer a small question by then is as good as away. */
  readonly timeLimitMs: number;
}

/** Rejects with the signal's reason only: what goes wrong in a check is a finding. */
export function createPreflight(deps: CreatePreflightDeps): Preflight {
  const { timeLimitMs: limitMs } = deps;
  return async ({ options, without = [], signal }) => {
    const begun = performance.now();
    const stop = new AbortController();
    const time = startTimer(limitMs);
    const early = startTimer(limitMs * estimateShare);
    const context = contextOf(deps, options, { signal: AbortSignal.any([signal, stop.signal]), early: early.over });
    try {
      const asked = checks.filter(({ name }) => !without.includes(name));
      const found = await Promise.all(asked.map((check) => findingsOf(check, context, time.over, limitMs / 1000)));
      signal.throwIfAborted();
      return resultOf(found.flat(), performance.now() - begun);
    } finally {
      time.stop();
      early.stop();
      stop.abort(new Error('the preflight is over'));
    }
  };
}

interface Limits {
  readonly signal: AbortSignal;
  /** From then on nobody waits for an estimate. */
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

/** The same promise for everybody who asks. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => (asked ??= work());
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
    const found = await Promise.race([check.look(context), over]);
    return found === late ? [named(check.late(context, seconds))] : found.map(named);
  } catch (error) {
    // The run meets it again and says what it is; here it only keeps one thing from being known.
    const reason = error instanceof Error ? error.message : String(error);
    return [named(warning('check_failed', `could not be looked at: ${reason}`, null))];
  }
}

const order = ['problem', 'warning', 'fine'] as const;

function resultOf(found: readonly PreflightFinding[], tookMs: number): PreflightResult {
  const findings = order.flatMap((level) => found.filter((finding) => finding.level === level));
  const verdict = findings[0]?.level === 'problem' ? 'failed' : 'passed';
  return { verdict, took_ms: Math.round(tookMs), findings };
}
