import { Value } from 'typebox/value';
import { importRulesSchema } from '../../wire/contract/import-choice.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { SettingsError } from '../../plugins/plugin.ts';
import type { ResumeChanges } from './run-transitions.ts';
import type { RunOptions } from './run.ts';

const eventsPerSecondMax = 1_000_000;
const known = ['rejected_max', 'events_per_second', 'last', 'again', 'replace', 'rules'];

/**
 * Reads from a payload what changes when a run is resumed.
 * @throws ApiError invalid_input
 */
export function resumeChangesOf(payload: JsonObject): ResumeChanges {
  const unknown = Object.keys(payload).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    refuse(unknown, `Only ${known.join(', ')} can be changed when a run is resumed; start another run for the rest.`);
  }
  const { rejected_max: rejectedMax, events_per_second: eventsPerSecond, last, again } = payload;
  if (isGiven(rejectedMax) && !isNumber(rejectedMax, 1)) refuse('rejected_max', 'Expected a share from 0 to 1.');
  if (
    isGiven(eventsPerSecond) &&
    !(isNumber(eventsPerSecond, eventsPerSecondMax) && Number.isInteger(eventsPerSecond))
  ) {
    refuse('events_per_second', `Expected a whole number from 0 to ${eventsPerSecondMax}.`);
  }
  if (isGiven(last) && last !== 'check' && last !== 'report') refuse('last', 'Expected check or report.');
  if (isGiven(again) && typeof again !== 'boolean') refuse('again', 'Expected true or false.');
  const replace = replaceOf(payload);
  const rules = rulesOf(payload);
  return {
    ...(rules !== undefined && { rules }),
    ...(replace !== undefined && { replace }),
    ...(typeof again === 'boolean' && { again }),
    ...(isNumber(rejectedMax, 1) && { rejectedMax }),
    ...(isNumber(eventsPerSecond, eventsPerSecondMax) && { eventsPerSecond }),
    ...((last === 'check' || last === 'report') && { last }),
  };
}

function replaceOf({ replace }: JsonObject): ResumeChanges['replace'] {
  try {
    return readReplace(replace);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    throw new ApiError('invalid_input', `${error.message}.`, { attr: 'replace', cause: error });
  }
}

function rulesOf({ rules }: JsonObject): ResumeChanges['rules'] {
  if (!isGiven(rules)) return undefined;
  if (Value.Check(importRulesSchema, rules)) return rules;
  refuse('rules', `Expected rules for ${Object.keys(importRulesSchema.properties).join(', ')}.`);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isNumber(value: unknown, max: number): value is number {
  return typeof value === 'number' && value >= 0 && value <= max;
}

function refuse(key: string, detail: string): never {
  throw new ApiError('invalid_input', detail, { attr: key });
}

const runsMax = 20;

/** Reads the runs to replace from a payload. Throws SettingsError. */
export function readReplace(value: JsonValue | undefined): RunOptions['replace'] {
  if (value === undefined || value === null || value === false) return undefined;
  if (value === true) return true;
  if (Array.isArray(value) && value.length > 0 && value.length <= runsMax && value.every(isId))
    return [...new Set(value)];
  throw new SettingsError(`"replace": expected true, or the ids of 1 to ${runsMax} runs`, { key: 'replace' });
}

function isId(value: JsonValue): value is string {
  return typeof value === 'string' && value !== '';
}
