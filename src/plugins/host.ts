import type { JsonValue } from '../base/json.ts';
import type { OutboundFetch } from './outbound/outbound.ts';

/** What the service offers to a plugin at work, built in or in the sandbox. Each is made for one config. */

/** A file of a config's settings. */
export interface Attachment {
  readonly fileName: string;
  readonly contentType: string;
  readonly content: Uint8Array;
}

/**
 * JSON values that last, by key; of this config alone. What a transformation writes is stored together with the events that
 * it wrote it for, so that neither is there without the other and nothing counts twice.
 */
export interface PluginStorage {
  /** Undefined: not set. A stored null is null. */
  get(key: string): Promise<JsonValue | undefined>;
  /** Those that are set. One query, whatever the number of keys. */
  getMany(keys: readonly string[]): Promise<ReadonlyMap<string, JsonValue>>;
  set(key: string, value: JsonValue): Promise<void>;
  delete(key: string): Promise<void>;
  /** Adds to a number (unset: 0) in one step, and returns the new one. Throws when the value is no number. */
  increment(key: string, by: number): Promise<number>;
  /**
   * Only where what is written waits in memory until its window is stored: this storage for one event, whose writes can be taken back.
   * `event`: the same object for as long as it is at work.
   */
  forEvent?(event: object): PluginStorage;
  /** Takes back what the event has written: it was lost at work, and is processed again. */
  takeBack?(event: object): void;
}

/**
 * What may be lost at any time: in memory, shared by all configs of a plugin in a project. Values are text; lists are apart,
 * as in Redis. `ttlSeconds` undefined: until there is no more room.
 */
export interface PluginCache {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string, ttlSeconds?: number): Promise<void>;
  delete(key: string): Promise<void>;
  increment(key: string): Promise<number>;
  /** False: there is no such key. */
  expire(key: string, ttlSeconds: number): Promise<boolean>;
  /** Puts the values before the list, one after the other (so the last comes first); returns its length. */
  listPush(key: string, values: readonly string[]): Promise<number>;
  /** Both ends included; negative ones count from the end. */
  listRange(key: string, start: number, end: number): Promise<readonly string[]>;
  listLength(key: string): Promise<number>;
  /** Count as in Redis: positive from the head, negative from the tail, 0 all. Returns how many are gone. */
  listRemove(key: string, count: number, value: string): Promise<number>;
  listPop(key: string, count: number): Promise<readonly string[]>;
}

/** As in a MaxMind City database; every part may be missing. */
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
  /** Null: not in the database, or no address at all. */
  locate(ip: string): CityRecord | null;
}

/** What a built-in transformation may use besides the event. */
export interface TransformationHost {
  readonly projectId: number;
  readonly configId: number;
  readonly attachments: ReadonlyMap<string, Attachment>;
  readonly storage: PluginStorage;
  readonly cache: PluginCache;
  readonly fetch: OutboundFetch;
  /** Undefined: no database is configured, or it cannot be read; then `geoipProblem` says what to do. */
  readonly geoip: GeoIp | undefined;
  readonly geoipProblem: string;
  /** ms since the epoch. */
  readonly now: () => number;
}
