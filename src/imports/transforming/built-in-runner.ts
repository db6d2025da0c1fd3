import type { JsonObject } from '../../base/json.ts';
import type { TransformationHost } from '../../plugins/host.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import type {
  BatchTransformation,
  Transformation,
  TransformationPlugin,
  TransformEvent,
} from '../../plugins/plugin.ts';
import { SandboxError, type EventOutcome, type SandboxEvent } from '../../plugins/sandbox/sandbox.ts';
import { checkResult } from '../../pipeline/transform/run-chain.ts';
import { TransformError } from '../transform.ts';
import { emptyCache, importServices } from './import-services.ts';
import type { Runner } from './sandbox-runner.ts';

interface BuiltInRunnerDeps extends Omit<TransformationHost, 'storage' | 'cache'> {
  readonly plugin: TransformationPlugin;
  /** With defaults. */
  readonly settings: SettingValues;
  /** Masks secrets in a text. */
  readonly mask: (text: string) => string;
}

/** Opens a built-in transformation for one segment. Throws TransformError. */
export function openBuiltInRunner({ plugin, settings, mask, ...host }: BuiltInRunnerDeps): Runner {
  const { services, refused } = importServices(host.now);
  const transform = create(plugin, settings, mask, { ...host, storage: services.storage, cache: emptyCache(host.now) });
  return {
    refused,
    run: async (events) => {
      const given = events.map(toTransformEvent);
      const results = await settled(transform, given);
      return events.map((event, index) => outcomeOf(event, results[index]));
    },
    close: async () => {},
  };
}

function create(
  plugin: TransformationPlugin,
  settings: SettingValues,
  mask: (text: string) => string,
  host: TransformationHost,
): Transformation | BatchTransformation {
  try {
    return plugin.create(settings, host);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new TransformError(`the transform "${plugin.slug}" cannot be set up: ${mask(message)}`, { cause });
  }
}

type Result = TransformEvent | null | Error;

async function settled(
  transform: Transformation | BatchTransformation,
  events: readonly TransformEvent[],
): Promise<readonly Result[]> {
  if (typeof transform !== 'function') {
    return await transform.batch(events).catch((error: unknown) => events.map(() => errorOf(error)));
  }
  return events.map((event) => {
    try {
      return transform(event);
    } catch (error) {
      return errorOf(error);
    }
  });
}

function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

function toTransformEvent({
  uuid,
  event,
  distinctId,
  teamId,
  timestamp,
  propertiesText,
}: SandboxEvent): TransformEvent {
  const properties = JSON.parse(propertiesText) as JsonObject;
  return { uuid, event, distinct_id: distinctId, team_id: teamId, timestamp, properties };
}

function outcomeOf(given: SandboxEvent, result: Result | undefined): EventOutcome {
  if (result === null) return { kind: 'dropped' };
  if (result instanceof Error) return failed(result);
  if (result === undefined) return failed(new Error('expected a result per event, got none'));
  try {
    checkResult(result, given);
  } catch (error) {
    return failed(errorOf(error));
  }
  const { uuid, event, distinct_id: distinctId, timestamp, properties } = result;
  const propertiesText = JSON.stringify(properties);
  const isSame = propertiesText === given.propertiesText && timestamp === given.timestamp && uuid === given.uuid;
  if (isSame && event === given.event && distinctId === given.distinctId) return { kind: 'unchanged' };
  return { kind: 'changed', uuid, event, distinctId, timestamp, propertiesText, movedTeam: false };
}

function failed(error: Error): EventOutcome {
  const { name: errorName, message } = error;
  return { kind: 'failed', error: new SandboxError('thrown', message, { method: 'processEvent', errorName }) };
}
