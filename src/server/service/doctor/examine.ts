import { setTimeout as sleep } from 'node:timers/promises';
import { settingDefinitions, type SettingDefinition, type SettingName, type Settings } from '../../config/settings.ts';
import { CheckSkippedError, type Check, type DoctorContext, type Fault, type Outcome, type Part } from './check.ts';
import { doctorParts } from './checks.ts';

/** What a check found; a check with several faults has several. */
export interface Finding {
  readonly code: string;
  readonly part: string;
  readonly state: 'ok' | 'skipped' | 'warning' | 'failed';
  readonly detail: string;
  /** What to change; empty unless there is a fault. */
  readonly advice: string;
}

/** A part is opened, and each of its checks made, within this time. */
const checkMsDefault = 10_000;

/** Makes all checks concurrently, each within its time. Never rejects, and changes nothing. */
export async function examine(
  context: DoctorContext,
  {
    parts = doctorParts,
    checkMs = checkMsDefault,
  }: { readonly parts?: readonly Part[]; readonly checkMs?: number } = {},
): Promise<Finding[]> {
  const mask = secretMask(context.settings);
  const applying = parts.filter((part) => part.applies(context));
  const found = await Promise.all(applying.map((part) => examinePart(part, context, checkMs)));
  return found.flat().map(({ detail, ...finding }) => Object.assign(finding, { detail: mask(detail) }));
}

async function examinePart(part: Part, context: DoctorContext, checkMs: number): Promise<Finding[]> {
  const checks = Object.entries(part.checks);
  const opening = part.open(context);
  try {
    const subject = await within(checkMs, opening);
    const found = checks.map(async ([code, check]) => {
      const outcome = async (): Promise<Outcome> => await check.find(subject as never);
      return findingsOf(part, code, check, await outcomeOf(within(checkMs, outcome())));
    });
    return (await Promise.all(found)).flat();
  } catch (error) {
    const isSkipped = error instanceof CheckSkippedError;
    return checks.flatMap(([code, check]) => {
      const others = skipped(isSkipped ? error.message : `${part.title} could not be opened`);
      const outcome = code === part.opened && !isSkipped ? [messageOf(error)] : others;
      return findingsOf(part, code, check, outcome);
    });
  } finally {
    // What hangs is left behind: the command ends its process.
    await within(checkMs, closed(opening)).catch(() => undefined);
  }
}

async function closed(opening: Promise<AsyncDisposable>): Promise<void> {
  const subject = await opening.catch(() => undefined);
  await subject?.[Symbol.asyncDispose]();
}

interface Skipped {
  readonly skipped: string;
}

const skipped = (reason: string): Skipped => ({ skipped: reason });

async function outcomeOf(finding: Promise<Outcome>): Promise<Outcome | Skipped> {
  try {
    return await finding;
  } catch (error) {
    return error instanceof CheckSkippedError ? skipped(error.message) : [`could not be checked: ${messageOf(error)}`];
  }
}

function findingsOf({ title: part }: Part, code: string, check: Check<never>, outcome: Outcome | Skipped): Finding[] {
  const { severity, advice } = check;
  if (typeof outcome === 'string') return [{ code, part, state: 'ok', detail: outcome, advice: '' }];
  if ('skipped' in outcome) return [{ code, part, state: 'skipped', detail: outcome.skipped, advice: '' }];
  if (outcome.length === 0) return [{ code, part, state: 'ok', detail: check.checks.replaceAll('`', ''), advice: '' }];
  const of = (fault: Fault) => (typeof fault === 'string' ? { detail: fault, severity } : fault);
  return outcome.map(of).map(({ detail, severity: state }) => ({ code, part, state, detail, advice }));
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const ended = new AbortController();
  const late = sleep(ms, undefined, { signal: ended.signal }).then(() => {
    throw new Error(`no answer within ${ms / 1000} s`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    late.catch(() => undefined);
    ended.abort();
  }
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return message.replaceAll(/\s+/g, ' ').trim();
}

/** Errors of servers and libraries are shown; none of them may repeat a secret. */
function secretMask(settings: Settings): (text: string) => string {
  const names = Object.keys(settingDefinitions) as SettingName[];
  const secrets = names
    .filter((name) => (settingDefinitions[name] as SettingDefinition).secret === true)
    .flatMap((name) => secretsOf(String(settings[name])))
    .filter((secret) => secret.length > 0)
    .toSorted((a, b) => b.length - a.length);
  return (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, '(secret)'), text);
}

/** Of an address only the password, as written and decoded: host and database may be shown. */
function secretsOf(value: string): string[] {
  if (!URL.canParse(value)) return [value];
  const { password } = new URL(value);
  return [password, decodeURIComponent(password)];
}
