import type { Clock } from '../../base/clock.ts';
import type { Ingest } from '../../wire/batch/ingest.ts';
import type { ScanSender } from '../../wire/batch/scan-relay.ts';
import type { Agreements } from '../../wire/capture/agreements.ts';
import type { Settings } from '../config/settings.ts';
import type { EventLogWriter } from '../../log/eventlog.ts';
import type { EventStore } from '../../stores/events/eventstore.ts';
import type { Staging } from '../../imports/staging.ts';
import type { LiveHub } from '../../pipeline/live/hub.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Log } from '../telemetry/log.ts';
import type { MetricsRegistry } from '../telemetry/metrics.ts';
import type { SharedStores } from './stores.ts';

/** Dependencies shared by every component of the service. */
export interface ServiceDeps {
  readonly settings: Settings;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  readonly clock: Clock;
  readonly db: Metadata;
  readonly store: EventStore;
  readonly eventLog: EventLogWriter;
  readonly staging: Staging;
  /** Files of exports. */
  readonly exports: Staging;
  /** For threads, which open their own connections. */
  readonly shared: SharedStores;
  readonly ingest: Ingest;
  /** From ingest to the pipeline, if both are in this process. */
  readonly scans?: ScanSender | undefined;
  /** Readers of the live stream. */
  readonly live: LiveHub;
  readonly agreements: Agreements;
}
