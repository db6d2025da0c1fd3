import type { AcceptedBatch } from '../capture/accept.ts';
import type { PluginField, SettingValues } from './fields.ts';
import type { TransformationHost } from './host.ts';

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = { [key: string]: JsonValue };

/** An event as a transformation sees it and may change it. `team_id` is restored afterwards whatever the plugin does. */
export interface TransformEvent {
  /** Lower case. Another uuid makes it another event; one that is none is a failure. */
  uuid: string;
  event: string;
  distinct_id: string;
  readonly team_id: number;
  /** ISO 8601 UTC, after clock correction. */
  timestamp: string;
  properties: JsonObject;
}

/** Returns the event (changed in place or new), or null to drop it. Throwing keeps the event unchanged and counts a failure. */
export type Transformation = (event: TransformEvent) => TransformEvent | null;

/**
 * For what has to look something up (storage, cache, fetch): takes the events that are next in line, at most a few hundred and
 * in order, and settles each: the event, null to drop it, or an Error, which counts a failure and keeps it unchanged.
 */
export interface BatchTransformation {
  readonly batch: (events: readonly TransformEvent[]) => Promise<readonly (TransformEvent | null | Error)[]>;
}

export interface PluginBase {
  /** Stable name, kebab-case: `drop-events`. */
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly fields: readonly PluginField[];
}

/** One built-in transformation = one file: fields, example, code; its test beside it. */
export interface TransformationPlugin extends PluginBase {
  readonly kind: 'transformation';
  /** Names by which published plugins that do the same are known; for search, docs and whoever comes from there. */
  readonly alsoKnownAs?: readonly string[];
  /** Where it does something else than the published plugins it stands for: one sentence each, for docs. */
  readonly differences?: readonly string[];
  readonly example: {
    readonly settings: SettingValues;
    readonly before: Pick<TransformEvent, 'event' | 'distinct_id' | 'properties'>;
    /** Null: the event is dropped. */
    readonly after: Pick<TransformEvent, 'event' | 'distinct_id' | 'properties'> | null;
  };
  /**
   * Called once per config and change of settings; also to find out whether the settings can work, so it must do nothing that
   * can be seen. Throws SettingsError when they cannot.
   */
  readonly create: (settings: SettingValues, host: TransformationHost) => Transformation | BatchTransformation;
}

/** What the job of an import app may use. */
export interface JobContext {
  readonly projectId: number;
  readonly settings: SettingValues;
  readonly payload: JsonObject;
  /** Same door as HTTP. */
  readonly accept: (batch: AcceptedBatch) => Promise<void>;
  /** Aborted when the service stops: stop soon, the job is taken up again. */
  readonly signal: AbortSignal;
}

export interface PluginJob {
  readonly description: string;
  readonly run: (context: JobContext) => Promise<void>;
}

export interface ImportAppPlugin extends PluginBase {
  readonly kind: 'import-app';
  /** By type; `run` is the default and always there. */
  readonly jobs: Readonly<Record<string, PluginJob>> & { readonly run: PluginJob };
}

export type Plugin = TransformationPlugin | ImportAppPlugin;

/** The settings are of the right shape but cannot work; the message tells a person what to change. */
export class SettingsError extends Error {
  override name = 'SettingsError';
}

/** Checks the types of a built-in plugin where it is written. */
export function definePlugin<P extends Plugin>(plugin: P): P {
  return plugin;
}
