import type { JsonValue } from '../base/json.ts';
import type { OutboundFetch } from './outbound/outbound.ts';

/** What the service offers to a running plugin, built in or in the sandbox. Each object belongs to one config. */

/** A file of a config's settings. */
export interface Attachment {
  readonly fileName: string;
  readonly contentType: string;
  readonly content: Uint8Array;
}

/**
 * Persistent JSON values of one config, by key. Values that a transformation writes are stored together with the events that
 * it wrote them for, so that neither exists without the other and nothing counts twice.
 */
export interface PluginStorage {
  /** Returns `undefined` for an unset key. A stored null is null. */
  get(key: string): Promise<JsonValue | undefined>;
  /** Returns the keys that are set. One query for any number of keys. */
  getMany(keys: readonly string[]): Promise<ReadonlyMap<string, JsonValue>>;
  set(key: string, value: JsonValue): Promise<void>;
  delete(key: string): Promise<void>;
  /** Adds to a number (0 when unset) atomically and returns the new one. Throws if the value is not a number. */
  increment(key: string, by: number): Promise<number>;
  /**
   * Only where writes wait in memory until their window is stored: returns this storage for one event, whose writes can be
   * undone. `event` must be the same object while it is processed.
   */
  forEvent?(event: object): PluginStorage;
  /** Undoes the writes of an event that was lost midway and is processed again. */
  takeBack?(event: object): void;
}

/**
 * A volatile in-memory store, shared by all configs of a plugin in a project. Values are text; lists are separate, as in Redis.
 * `ttlSeconds` undefined keeps a value until memory runs short.
 */
export interface PluginCache {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string, ttlSeconds?: number): Promise<void>;
  delete(key: string): Promise<void>;
  increment(key: string): Promise<number>;
  /** Returns false if the key does not exist. */
  expire(key: string, ttlSeconds: number): Promise<boolean>;
  /** Prepends the values one after the other (so the last comes first); returns the list's length. */
  listPush(key: string, values: readonly string[]): Promise<number>;
  /** Both ends are inclusive; negative ones count from the end. */
  listRange(key: string, start: number, end: number): Promise<readonly string[]>;
  listLength(key: string): Promise<number>;
  /** `count` as in Redis: positive from the head, negative from the tail, 0 all. Returns how many were removed. */
  listRemove(key: string, count: number, value: string): Promise<number>;
  listPop(key: string, count: number): Promise<readonly string[]>;
}

/** A record of a MaxMind City database; every part may be missing. */
export interface CityRecord {
  readonly city?: {
    readonly names?: { readonly en?: string };
    readonly confidence?: number;
    readonly geoname_id?: number;
  };
  readonly continent?: { readonly names?: { readonly en?: string }; readonly code?: string };
  readonly country?: {
    readonly names?: { readonly en?: string };
    readonly iso_code?: string;
    readonly confidence?: number;
  };
  readonly postal?: { readonly code?: string; readonly confidence?: number };
  readonly location?: {
    readonly latitude?: number;
    readonly longitude?: number;
    readonly accuracy_radius?: number;
    readonly time_zone?: string;
  };
  readonly subdivisions?: readonly {
    readonly names?: { readonly en?: string };
    readonly iso_code?: string;
    readonly confidence?: number;
  }[];
}

export interface GeoIp {
  /** Returns null for an address that is invalid or not in the database. */
  locate(ip: string): CityRecord | null;
}

/** What a built-in transformation may use in addition to the event. */
export interface TransformationHost {
  readonly projectId: number;
  readonly configId: number;
  readonly attachments: ReadonlyMap<string, Attachment>;
  readonly storage: PluginStorage;
  readonly cache: PluginCache;
  readonly fetch: OutboundFetch;
  /** `undefined` if no database is configured or readable; then `geoipProblem` says what to do. */
  readonly geoip: GeoIp | undefined;
  readonly geoipProblem: string;
  /** ms since the epoch. */
  readonly now: () => number;
}
