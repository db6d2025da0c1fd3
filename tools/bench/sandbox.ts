import { createSandbox, type IsolatedSandbox } from '../../src/plugins/sandbox/create-sandbox.ts';
import type {
  InstanceServices,
  InstanceSpec,
  SandboxEvent,
  SandboxInstance,
} from '../../src/plugins/sandbox/sandbox.ts';
import { createLog } from '../../src/server/telemetry/log.ts';
import { megabytes } from './end-to-end.ts';
import { median, percentile } from './load.ts';
import { thousands } from './pairs.ts';
import { cpuSecondsOfTree } from './process.ts';

/** A typical transformation: parses an address, matches, deletes, writes four properties and a $set. */
const body = `
  const properties = event.properties;
  const query = String(properties.$current_url).split('?')[1] || '';
  for (const part of query.split('&')) {
    const [name, value] = part.split('=');
    if (name === 'utm_source') properties.source = decodeURIComponent(value || '');
    if (name === 'utm_campaign') properties.campaign = decodeURIComponent(value || '');
  }
  const match = /Chrome\\/(\\d+)/.exec(properties.$raw_user_agent);
  properties.chrome = match ? Number(match[1]) : null;
  delete properties.$referrer;
  properties.area = properties.$pathname.split('/')[1];
  event.properties.$set = { ...event.properties.$set, last_area: properties.area };
  return event;`;
const sandboxedCode = `exports.processEvent = function (event, meta) {${body}\n};`;
// The same text, so that both do the same work.
const direct = new Function('event', 'meta', body) as (event: object, meta: object) => object | null;

const batch = 1000;
const warmUpRounds = 3;
const roundSeconds = 1;

/** One sandboxed transformation beside the same function called directly, and many configs at once. */
export async function benchSandbox(rounds: number): Promise<string> {
  const sandbox = open();
  try {
    const pair = await compare(await sandbox.open(spec(1, sandboxedCode)), rounds);
    return `${pair}\n\n${await manyConfigs()}`;
  } finally {
    await sandbox.close();
  }
}

async function compare(instance: SandboxInstance, rounds: number): Promise<string> {
  const events = Array.from({ length: batch }, (_, index) => sampleEvent(index));
  const ours: number[] = [];
  const base: number[] = [];
  const speeds: number[] = [];
  for (let round = -warmUpRounds; round < rounds; round++) {
    const sandboxed = await measure(async () => {
      const outcomes = await instance.processEvents(events);
      if (outcomes.some((outcome) => outcome.kind !== 'changed')) throw new Error('expected every event to change');
    });
    const called = await measure(() => {
      for (const event of events) callDirectly(event);
    });
    if (round < 0) continue;
    ours.push(sandboxed.perCpuSecond);
    speeds.push(sandboxed.perSecond);
    base.push(called.perCpuSecond);
  }
  const ratios = ours.map((each, index) => each / (base[index] ?? Number.NaN));
  const spread = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`;
  return [
    '| | events per CPU-s | called directly | ratio (min–max) | events/s |',
    '|---|---|---|---|---|',
    `| one transformation, ${sampleEvent(0).propertiesText.length} bytes | ${thousands(median(ours))} | ` +
      `${thousands(median(base))} | **${median(ratios).toFixed(2)}** (${spread}) | ${thousands(median(speeds))} |`,
  ].join('\n');
}

/** Text in, text out, as in the sandbox. */
function callDirectly(event: SandboxEvent): string {
  const given = {
    distinct_id: event.distinctId,
    ip: null,
    site_url: '',
    team_id: event.teamId,
    now: new Date(event.receivedAt).toISOString(),
    event: event.event,
    uuid: event.uuid,
    timestamp: event.timestamp,
    properties: JSON.parse(event.propertiesText) as object,
  };
  return JSON.stringify(direct(given, {}));
}

async function measure(run: () => void | Promise<void>): Promise<{ perCpuSecond: number; perSecond: number }> {
  const before = cpuSecondsOfTree(process.pid);
  const start = performance.now();
  let events = 0;
  while (performance.now() - start < roundSeconds * 1000) {
    await run();
    events += batch;
  }
  const seconds = (performance.now() - start) / 1000;
  return { perCpuSecond: events / (cpuSecondsOfTree(process.pid) - before), perSecond: events / seconds };
}

/** 200 configs of 50 projects in one process: their memory, and the cost of room for only half of them. */
async function manyConfigs(): Promise<string> {
  const count = 200;
  const lines = ['| 200 configs, 50 projects | room for all | room for half |', '|---|---|---|'];
  const [all, half] = [await runMany(count, count), await runMany(count, count / 2)];
  for (const name of Object.keys(all)) lines.push(`| ${name} | ${all[name]} | ${half[name]} |`);
  return lines.join('\n');
}

async function runMany(count: number, instancesMax: number): Promise<Record<string, string>> {
  const sandbox = open(instancesMax);
  const opening: number[] = [];
  const calls: number[] = [];
  const instances: SandboxInstance[] = [];
  for (let index = 0; index < count; index++) {
    const start = performance.now();
    instances.push(await sandbox.open(spec(index, sandboxedCode)));
    opening.push(performance.now() - start);
  }
  const event = sampleEvent(0);
  for (let round = 0; round < 3; round++) {
    for (const instance of instances) {
      const start = performance.now();
      await instance.processEvents([event]);
      calls.push(performance.now() - start);
    }
  }
  const stats = sandbox.stats();
  await sandbox.close();
  return {
    'memory of the process': megabytes(stats.rssBytes),
    'isolates in memory': String(stats.instances),
    'opening one, median / p99': milliseconds(opening),
    'one event, median / p99': milliseconds(calls),
  };
}

function milliseconds(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  return `${percentile(sorted, 0.5).toFixed(2)} / ${percentile(sorted, 0.99).toFixed(2)} ms`;
}

function open(instancesMax = 256): IsolatedSandbox {
  return createSandbox({
    memoryBytesMax: 134_217_728,
    processBytesMax: 1_610_612_736,
    cpuMs: 250,
    waitMs: 10_000,
    taskMs: 60_000,
    instancesMax,
    idleMs: 600_000,
    outbound: { allow: '', timeoutMs: 10_000, bytesMax: 20_971_520 },
    geoipDatabase: '',
    log: createLog('warn'),
  });
}

function spec(index: number, code: string): InstanceSpec {
  return {
    pluginName: 'Address parts',
    code,
    configId: index,
    projectId: index % 50,
    label: `Address parts (${index})`,
    settings: {},
    attachments: new Map(),
    services: noServices,
  };
}

const notAsked = (): never => {
  throw new Error('expected a transformation that asks for nothing');
};
const noServices: InstanceServices = {
  storage: { get: notAsked, getMany: notAsked, set: notAsked, delete: notAsked, increment: notAsked },
  cache: {
    get: notAsked,
    set: notAsked,
    delete: notAsked,
    increment: notAsked,
    expire: notAsked,
    listPush: notAsked,
    listRange: notAsked,
    listLength: notAsked,
    listRemove: notAsked,
    listPop: notAsked,
  },
  capture: notAsked,
  enqueueJob: notAsked,
  api: notAsked,
  log: () => undefined,
  metric: () => undefined,
};

function sampleEvent(index: number): SandboxEvent {
  const properties = {
    $current_url: `https://shop.example.com/products/${index}?utm_source=news%20letter&utm_campaign=spring&page=2`,
    $pathname: `/products/${index}`,
    $host: 'shop.example.com',
    $referrer: 'https://www.google.com/',
    $raw_user_agent:
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
    $lib: 'web',
    $lib_version: '1.194.1',
    $device_id: `device-${index % 50}`,
    $session_id: '0193a5b2-7c1d-7000-8000-000000000000',
    $screen_height: 1080,
    $screen_width: 1920,
    price: 19.99,
    quantity: index % 7,
    $set: { plan: 'free', seats: 3 },
  };
  return {
    uuid: `01900000-0000-7000-8000-${index.toString(16).padStart(12, '0')}`,
    event: 'product viewed',
    distinctId: `person-${index % 500}`,
    teamId: 7,
    timestamp: '2026-11-21T10:00:00.000Z',
    receivedAt: 1_795_255_200_000,
    propertiesText: JSON.stringify(properties),
    markers: { succeeded: [], failed: [] },
  };
}
