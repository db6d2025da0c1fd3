import { CompiledQuery, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { readConfigRevision } from '../../stores/metadata/config-revision.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { storeVersion } from '../../stores/metadata/store-version.ts';
import { firstHourOf, sinceOf, type StoredConfig } from './stored-config.ts';

/** What is kept of all answers together. */
const keptBytesMax = 16 * 1024 * 1024;
/** Longer lists are made anew each time. */
const idsMax = 200;

/** Answers about configs as JSON, kept for as long as nothing that they show has changed, in whichever process. */
export interface RenderedConfigs {
  /**
   * @param key tells this answer from every other
   * @param now ms since the epoch
   * @param render reads configs and makes the answer of them, which holds nothing else that changes; what it throws is thrown
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
  /** When the state was last seen to be this one. */
  seen: Moment;
}

/** While both are the same, there is nothing new to read. */
interface Moment {
  /** Undefined: the store cannot tell. */
  readonly version: number | undefined;
  /** See firstHourOf. */
  readonly hour: number;
}

/** What a record shows beside that of which a change counts as a new revision of the configuration. */
type Passing = Pick<StoredConfig, 'id' | 'error' | 'delivered' | 'failed'>;

export function createRenderedConfigs(db: Queries): RenderedConfigs {
  const kept = new LRUCache<string, Rendered>({
    maxSize: keptBytesMax,
    sizeCalculation: ({ json, state }, key) => key.length + json.length + state.length,
  });
  const readState = createStateReader(db);
  return {
    async through(key, now, render) {
      // First the version and the revision: what is read afterwards is at least as new, so a change in between shows the next time.
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

/** The same text as long as these configs are shown the same. */
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

/** One statement, so that all of it is from the same moment; only the revision has a row when nothing happens. */
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

/** As stateOf makes it of the configs themselves. */
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
    // PostgreSQL takes no empty list; no config has this id.
    const ids = shown.length === 0 ? [0] : shown;
    const text = texts.get(ids.length) ?? stateSql(db, ids.length);
    texts.set(ids.length, text);
    const query = CompiledQuery.raw(text, [...ids, ...ids, sinceOf(now)]) as CompiledQuery<StateRow>;
    return stateOfRows((await db.executeQuery(query)).rows);
  };
}
