/** `millrace move`: opens the stores of both sides and copies. */
import { systemClock } from '../../base/clock.ts';
import { createFailpoint } from '../../base/failpoint.ts';
import type { Settings } from '../config/settings.ts';
import { eventLogOf, isCluster } from '../config/event-log-kind.ts';
import { claimDatabase } from '../../stores/metadata/claim-database.ts';
import { move, MoveRefusedError, type MoveReport } from '../../stores/move/move.ts';
import { openMoveSource, type MoveSourceDeps } from './move-source.ts';
import { inspectKafkaLog, openEventStore, openMetadata } from './stores.ts';

/** A month of a project may take longer than an interactive query. */
const queryTimeoutMs = 600_000;

/** @throws MoveRefusedError, errors of `move` and of the stores */
export async function moveStores(settings: Settings, target: Settings, deps: MoveSourceDeps): Promise<MoveReport> {
  const { log, progress } = deps;
  checkTargetSettings(target);
  await using parts = new AsyncDisposableStack();
  const from = await openMoveSource({ ...settings, queryTimeoutMs }, deps, parts);
  const to = await openMetadata(target, log);
  parts.defer(() => to.db.destroy());
  const claim = await claimDatabase(to.db, { log, sharing: 'alone' });
  parts.defer(() => claim.release());
  const toStore = await openEventStore({ ...target, queryTimeoutMs }, undefined, { migrates: true, log });
  parts.defer(() => toStore.close());
  return await move({
    from,
    to: {
      db: to.db,
      store: toStore,
      name: nameOf(target),
      slots: isCluster(target) ? target.slots : 1,
      checkLog: () => checkNewLog(target),
    },
    clock: systemClock,
    failpoint: createFailpoint(settings.failAt, settings.allowFailpoints),
    progress,
  });
}

function checkTargetSettings(target: Settings): void {
  const missing = [
    ...(target.databaseUrl === '' ? ['database_url (--to-database-url)'] : []),
    ...(target.clickhouseUrl === '' ? ['clickhouse_url (--to-clickhouse-url)'] : []),
  ];
  if (missing.length > 0) {
    throw new MoveRefusedError(`expected the stores to move to in --to, got no ${missing.join(' and no ')}`);
  }
}

/** The cursors of the new cluster begin at the start of its log. PostgreSQL's is in the database, which is empty. */
async function checkNewLog(target: Settings): Promise<void> {
  if (eventLogOf(target) !== 'kafka') return;
  await using kafka = await inspectKafkaLog(target);
  const { live, historical } = await kafka.ranges();
  const records = [...live.values(), ...historical.values()].reduce((sum, { end }) => sum + end, 0);
  if (records > 0) {
    throw new MoveRefusedError(
      `expected new topics for the event log, got "${kafka.topics.map(({ name }) => name).join('" and "')}" with ${records} ` +
        'records, which belong to another installation; choose another kafka_topic_prefix in --to',
    );
  }
  const unsuitable = kafka.faults.filter(({ kind }) => kind !== 'missing').map(({ sentence }) => sentence);
  if (unsuitable.length > 0) {
    throw new MoveRefusedError(`expected suitable topics for the event log, got: ${unsuitable.join('; ')}`);
  }
}

/** Without user and password. */
function nameOf({ databaseUrl, clickhouseUrl, clickhouseCluster }: Settings): string {
  const place = (url: string): string => `${new URL(url).host}${new URL(url).pathname}`;
  const cluster = clickhouseCluster === '' ? '' : `, cluster ${clickhouseCluster}`;
  return `PostgreSQL ${place(databaseUrl)}, ClickHouse ${place(clickhouseUrl)}${cluster}`;
}
