import type { AddressInfo } from 'node:net';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import type { Settings } from '../../server/config/settings.ts';
import { loadSettings } from '../../server/config/load.ts';
import type { IntactRecord, Lane } from '../../log/eventlog.ts';
import { createMemoryLog, type MemoryLog } from '../../../test/support/memory-log.ts';
import { getProjectByToken } from '../../stores/metadata/projects.ts';
import { createLog } from '../../server/telemetry/log.ts';
import { createMetrics, type MetricsRegistry } from '../../server/telemetry/metrics.ts';
import { limitDefaultsOf } from '../../server/service/project-limit-defaults.ts';
import { createMessageReader } from '../../server/service/segment-messages.ts';
import { createIngest } from './create-ingest.ts';
import { createBudgets } from './budgets.ts';
import { createAgreements, type AgreementsDeps } from './agreements.ts';
import { decodeBody } from './decode.ts';
import { createGunzipper } from './gunzip.ts';
import { createProjectKeys } from './project-key.ts';
import { createProjectLimits, type ProjectLimits } from './project-limits.ts';
import type { LimitedBatch } from './refuse-batch.ts';
import { registerCapture } from './routes.ts';
import { scanLimits } from '../batch/limits.ts';
import { scanBatch } from '../batch/scan.ts';
import { textAt, fieldFrom, fieldTo } from '../batch/spans.ts';

/** Real server, metadata store and, through `url`, HTTP. Only the event log is a double: its memory adapter. */
export interface TestCapture extends AsyncDisposable {
  readonly test: TestApp;
  readonly log: MemoryLog;
  /** Metrics of capture only. */
  readonly metrics: MetricsRegistry;
  readonly token: string;
  readonly limits: ProjectLimits;
  /** Batches refused because of their project. */
  readonly limited: readonly LimitedBatch[];
  /** Listens on first use. */
  url(): Promise<string>;
  /** Records of the log, in order. */
  records(lane?: Lane): Promise<IntactRecord[]>;
  /** The events of the log as parsed JSON, in order. */
  events(lane?: Lane): Promise<unknown[]>;
  failLookUps(fail: boolean): void;
}

export interface TestCaptureOptions {
  readonly settings?: Partial<Settings>;
  readonly agreements?: Partial<AgreementsDeps>;
}

export async function startTestCapture(options: TestCaptureOptions = {}): Promise<TestCapture> {
  const log = createMemoryLog();
  const metrics = createMetrics();
  const settings = { ...loadSettings({ env: {} }).settings, ...options.settings };
  let lookUpsFail = false;
  const wiring: { test?: TestApp } = {};
  const limits = createProjectLimits(limitDefaultsOf(settings), () => wiring.test?.clock.now() ?? 0);
  const limited: LimitedBatch[] = [];
  const onLimited = (batch: LimitedBatch): void => void limited.push(batch);
  const test = await startTestApp(() => [], {
    settings,
    registerCapture: (app) => {
      const store = (): TestApp => {
        if (wiring.test === undefined) throw new Error('the test server is not ready');
        return wiring.test;
      };
      const clock = { now: () => store().clock.now() };
      registerCapture(app, {
        ingest: createIngest({ log: log.writer, settings, metrics, limits, onLimited }),
        projects: createProjectKeys({
          clock,
          findProject: async (token) => {
            if (lookUpsFail) throw new Error('the metadata store is unavailable');
            return (await getProjectByToken(store().db, token))?.id;
          },
        }),
        agreements: createAgreements({
          mode: settings.historicalAgreement,
          findApproved: async () => undefined,
          budgets: createBudgets({ clock, historicalTotal: async () => 0 }),
          clock,
          ...options.agreements,
        }),
        settings,
        metrics,
        clock,
        log: createLog('silent'),
        createMessageReader,
      });
    },
  });
  wiring.test = test;
  const records = async (lane: Lane = 'live'): Promise<IntactRecord[]> =>
    (await log.reader.read(lane, 0, { events: 1e9, bytes: 1e12 })).flatMap((record) =>
      record.damaged === undefined ? [record] : [],
    );
  return {
    test,
    log,
    metrics,
    token: test.project.apiToken,
    limits,
    limited,
    records,
    events: async (lane) =>
      (await Promise.all((await records(lane)).map((record) => eventsOf(record, settings)))).flat(),
    failLookUps: (fail) => {
      lookUpsFail = fail;
    },
    url: async () => {
      if (!test.app.server.listening) await test.app.listen({ host: '127.0.0.1', port: 0 });
      return `http://127.0.0.1:${(test.app.server.address() as AddressInfo).port}`;
    },
    [Symbol.asyncDispose]: () => test[Symbol.asyncDispose](),
  };
}

async function eventsOf(record: IntactRecord, settings: Settings): Promise<unknown[]> {
  const limits = { inflatedBytesMax: settings.captureInflatedBytesMax };
  const { json } = await decodeBody(Buffer.from(record.body), {}, limits, createGunzipper());
  const scan = scanBatch(json, scanLimits(settings.captureEventBytesMax));
  return Array.from({ length: scan.count }, (_, i): unknown =>
    JSON.parse(textAt(json, fieldFrom(scan, i, 'event'), fieldTo(scan, i, 'event'))),
  );
}
