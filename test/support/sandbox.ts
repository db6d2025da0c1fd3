import { createLog } from '../../src/server/telemetry/log.ts';
import type { JsonValue } from '../../src/base/json.ts';
import { createSandbox, type IsolatedSandbox, type SandboxOptions } from '../../src/plugins/sandbox/create-sandbox.ts';
import type {
  CapturedEvent,
  EventOutcome,
  InstanceServices,
  InstanceSpec,
  LogLine,
  SandboxError,
  SandboxEvent,
} from '../../src/plugins/sandbox/sandbox.ts';

export function openTestSandbox(options: Partial<SandboxOptions> = {}): IsolatedSandbox {
  return createSandbox({
    memoryBytesMax: 67_108_864,
    processBytesMax: 1_073_741_824,
    cpuMs: 200,
    waitMs: 2000,
    taskMs: 4000,
    instancesMax: 64,
    idleMs: 600_000,
    outbound: { allow: '', timeoutMs: 2000, bytesMax: 1_048_576 },
    geoipDatabase: '',
    log: createLog('silent'),
    ...options,
  });
}

/** Services that keep everything in memory, to be looked at. */
export interface KeptServices extends InstanceServices {
  readonly kept: Map<string, JsonValue>;
  readonly captured: CapturedEvent[];
  readonly jobs: unknown[];
  readonly lines: LogLine[];
  readonly metrics: unknown[];
}

export function keepingServices(): KeptServices {
  const kept = new Map<string, JsonValue>();
  const cached = new Map<string, string>();
  const captured: CapturedEvent[] = [];
  const jobs: unknown[] = [];
  const lines: LogLine[] = [];
  const metrics: unknown[] = [];
  const notHere = (): Promise<never> => Promise.reject(new Error('there are no lists in this test'));
  return {
    kept,
    captured,
    jobs,
    lines,
    metrics,
    storage: {
      get: async (key) => kept.get(key),
      getMany: async (keys) => new Map(keys.flatMap((key) => (kept.has(key) ? [[key, kept.get(key) ?? null]] : []))),
      set: async (key, value) => void kept.set(key, value),
      delete: async (key) => void kept.delete(key),
      increment: async (key, by) => {
        const next = Number(kept.get(key) ?? 0) + by;
        kept.set(key, next);
        return next;
      },
    },
    cache: {
      get: async (key) => cached.get(key),
      set: async (key, value) => void cached.set(key, value),
      delete: async (key) => void cached.delete(key),
      increment: notHere,
      expire: notHere,
      listPush: notHere,
      listRange: notHere,
      listLength: notHere,
      listRemove: notHere,
      listPop: notHere,
    },
    capture: async (event) => void captured.push(event),
    enqueueJob: async (job) => void jobs.push(job),
    api: () => Promise.reject(new Error('there is no service in this test')),
    log: (line) => void lines.push(line),
    metric: (...metric) => void metrics.push(metric),
  };
}

export type TestSpec = InstanceSpec & { readonly services: KeptServices };
let lastConfig = 0;

export function specOf(code: string, rest: Partial<InstanceSpec> = {}): TestSpec {
  const configId = ++lastConfig;
  const services = keepingServices();
  const base = { pluginName: 'Probe', code, configId, projectId: 7, label: `Probe (${configId})`, settings: {} };
  return { ...base, attachments: new Map(), ...rest, services };
}

export const noMarkers = { succeeded: [], failed: [] };

export function eventOf(event: string, properties: object = {}, rest: Partial<SandboxEvent> = {}): SandboxEvent {
  return {
    uuid: '01900000-0000-7000-8000-000000000001',
    event,
    distinctId: 'person-1',
    teamId: 7,
    timestamp: '2026-11-21T10:00:00.123456Z',
    receivedAt: Date.UTC(2026, 10, 21, 10, 0, 1),
    propertiesText: JSON.stringify(properties),
    markers: noMarkers,
    ...rest,
  };
}

/** Properties of a changed event, without the markers. */
export function propertiesOf(outcome: EventOutcome | undefined): Record<string, unknown> {
  if (outcome?.kind !== 'changed') throw new Error(`expected a changed event, got ${JSON.stringify(outcome)}`);
  const { $plugins_succeeded, $plugins_failed, ...properties } = JSON.parse(outcome.propertiesText) as Record<
    string,
    unknown
  >;
  if (!Array.isArray($plugins_succeeded) || !Array.isArray($plugins_failed)) throw new Error('expected the markers');
  return properties;
}

export function errorOf(outcome: EventOutcome | undefined): SandboxError {
  if (outcome?.kind !== 'failed') throw new Error(`expected a failed event, got ${JSON.stringify(outcome)}`);
  return outcome.error;
}
