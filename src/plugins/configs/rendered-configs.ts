import { CompiledQuery, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { readConfigRevision } from '../../stores/metadata/config-revision.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { storeVersion } from '../../stores/metadata/store-version.ts';
import { firstHourOf, sinceOf, type StoredConfig } from './stored-config.ts';

/** Maximum size of all cached responses together. */
const keptBytesMax = 16 * 1024 * 1024;
/** Longer lists are not cached. */
const idsMax = 200;

/** Caches JSON responses about configs until something that they show changes, in any process. */
export interface RenderedConfigs {
  /**
   * @param key identifies the response
   * @param now ms since the epoch
   * @param render reads configs and builds the response, which contains nothing else that changes; its errors are passed on
   * @returns JSON in UTF-8
   */
  through(
    key: string,
    now: number,
    render: () => Promise<{ readonly configs: readonly StoredConfig[]; readonly body: unknown }>,
  ): Promise<Buffer>;
}

interface Rendered {
  readonly json: Buffer;
  readonly ids: readonly number[];
  /** See stateOf. */
  readonly state: string;
  /** When the state was last confirmed. */
  seen: Moment;
}

/** While both values are unchanged, nothing needs to be read. */
interface Moment {
  /** `undefined` if the store cannot report it. */
  readonly version: number | undefined;
  /** See firstHourOf. */
  readonly hour: number;
}

/** The parts of a record that change without a new revision of the configuration. */
type Passing = Pick<StoredConfig, 'id' | 'error' | 'delivered' | 'failed'>;

export function createRenderedConfigs(db: Queries): RenderedConfigs {
  const kept = new LRUCache<string, Rendered>({
    maxSize: keptBytesMax,
    sizeCalculation: ({ json, state }, key) => key.length + json.length + state.length,
  });
  const readState = createStateReader(db);
  return {
    async through(key, now, render) {
      // The version and the revision are read first: later reads are at least as new, so a change in between shows the next time.
      const seen = { version: storeVersion(db), hour: firstHourOf(now) };
      const known = kept.get(key);
      if (known !== undefined) {
        if (isSame(known.seen, seen)) return known.json;
        if ((await readState(known.ids, now)) === known.state) {
          known.seen = seen;
          return known.json;
        }
      }
      const revision = await readConfigRevision(db);
      const { configs, body } = await render();
      const json = Buffer.from(JSON.stringify(body));
      if (configs.length > idsMax) return json;
      kept.set(key, { json, ids: configs.map(({ id }) => id), state: stateOf(Number(revision), configs), seen });
      return json;
    },
  };
}

function isSame(one: Moment, other: Moment): boolean {
  return one.version !== undefined && one.version === other.version && one.hour === other.hour;
}

/** Returns the same text as long as these configs look the same. */
function stateOf(revision: number, configs: readonly Passing[]): string {
  const passing = configs
    .filter(({ error, delivered, failed }) => error !== '' || delivered > 0 || failed > 0)
    .map(({ id, error, delivered, failed }) => [id, delivered, failed, error])
    .sort(([one], [other]) => Number(one) - Number(other));
  return JSON.stringify([revision, ...passing]);
}

interface StateRow {
  readonly part: 'revision' | 'error' | 'metrics';
  readonly id: number;
  /** Numbers are text on PostgreSQL. */
  readonly first: number | string;
  readonly second: number | string;
  readonly error: string;
}

/** One statement, so that all parts are from the same moment; without activity only the revision has a row. */
function stateSql(db: Queries, count: number): string {
  const ids = sql.join(Array.from({ length: count }, () => sql`${0}`));
  return sql`
    select 'revision' as part, 0 as id, revision as first, 0 as second, '' as error from config_revisions
    union all
    select 'error', id, 0, 0, error from plugin_configs where id in (${ids}) and error <> ''
    union all
    select 'metrics', config_id, sum(succeeded + dropped), sum(failed), '' from plugin_metrics
      where config_id in (${ids}) and hour >= ${''} group by config_id`.compile(db).sql;
}

/** Computes the same text as stateOf from rows. */
function stateOfRows(rows: readonly StateRow[]): string {
  let revision = 0;
  const passing = new Map<number, Passing>();
  for (const { part, id, first, second, error } of rows) {
    const known = passing.get(id) ?? { id, error: '', delivered: 0, failed: 0 };
    if (part === 'revision') revision = Number(first);
    else if (part === 'error') passing.set(id, { ...known, error });
    else passing.set(id, { ...known, delivered: Number(first), failed: Number(second) });
  }
  return stateOf(revision, [...passing.values()]);
}

function createStateReader(db: Queries): (ids: readonly number[], now: number) => Promise<string> {
  const texts = new Map<number, string>();
  return async (shown, now) => {
    // PostgreSQL refuses an empty list; no config has this id.
    const ids = shown.length === 0 ? [0] : shown;
    const text = texts.get(ids.length) ?? stateSql(db, ids.length);
    texts.set(ids.length, text);
    const query = CompiledQuery.raw(text, [...ids, ...ids, sinceOf(now)]) as CompiledQuery<StateRow>;
    return stateOfRows((await db.executeQuery(query)).rows);
  };
}
