import type { AcceptedBatch } from '../wire/batch/ingest.ts';
import type { Source, SourceHost } from '../imports/source.ts';
import type { JsonObject } from '../base/json.ts';
import type { PluginField, SettingValues } from './fields.ts';
import type { TransformationHost } from './host.ts';

/** An event that a transformation may change. `team_id` is always restored afterwards. */
export interface TransformEvent {
  /** Lower case. A new uuid makes a different event; an invalid one is a failure. */
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
 * For transformations that look something up (storage, cache, fetch): takes the next events in order, at most a few hundred,
 * and settles each with the event, null to drop it, or an Error, which counts a failure and keeps the event unchanged.
 */
export interface BatchTransformation {
  readonly batch: (events: readonly TransformEvent[]) => Promise<readonly (TransformEvent | null | Error)[]>;
}

interface PluginBase {
  /** Stable name, kebab-case: `drop-events`. */
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly fields: readonly PluginField[];
}

type ExampleEvent = Pick<TransformEvent, 'event' | 'distinct_id' | 'properties'>;

/** One built-in transformation per file, with fields, example and code; its test is next to it. */
export interface TransformationPlugin extends PluginBase {
  readonly kind: 'transformation';
  /** Names of published plugins that do the same; for search, docs and users who migrate. */
  readonly alsoKnownAs?: readonly string[];
  /** Differences from the published plugins that it replaces: one sentence each, for docs. */
  readonly differences?: readonly string[];
  readonly example: {
    readonly settings: SettingValues;
    readonly before: ExampleEvent;
    /** Null if the event is dropped. */
    readonly after: ExampleEvent | null;
  };
  /**
   * Called once per config and change of settings, and to validate settings, so it must have no visible effect. Throws
   * SettingsError for settings that cannot work.
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
  /** Aborted when the service stops: end soon, the job will run again. */
  readonly signal: AbortSignal;
}

export interface PluginJob {
  readonly description: string;
  readonly run: (context: JobContext) => Promise<void>;
}

export interface ImportAppPlugin extends PluginBase {
  readonly kind: 'import-app';
  /** By type; `run` is the default and always present. */
  readonly jobs: Readonly<Record<string, PluginJob>> & { readonly run: PluginJob };
}

/** An import app whose records are staged, checked and loaded by runs (src/imports); its jobs steer them. */
export interface ImportSourcePlugin extends PluginBase {
  readonly kind: 'import-app';
  /** `importRunJobs`: they control the runs and are implemented in src/imports. */
  readonly jobs: typeof importRunJobs;
  /** Its own settings; those that every import has (format, target, speed, …) are added to them. */
  readonly fields: readonly PluginField[];
  /** Formats of src/imports/formats that its records may have; the first is the default. Empty means any, and one must be chosen. */
  readonly formats: readonly string[];
  /** One sentence about `range` for this source; `undefined` if the source cannot select by time. */
  readonly range: string | undefined;
  /** Valid settings, for docs and tests. */
  readonly example: SettingValues;
  /** Must have no visible effect. Throws SettingsError for settings that cannot work. */
  readonly createSource: (settings: SettingValues, host: SourceHost) => Source;
}

/** The actions of the `job` operation for an import source. */
export const importRunJobs = {
  run: { description: 'Starts a run, or continues the existing one: export, check, load, verify, report.' },
  check: { description: 'Runs only up to the check: nothing is sent.' },
  pause: { description: 'Pauses the run; nothing is lost.' },
  resume: { description: 'Continues where it was paused or failed.' },
  cancel: { description: 'Ends the run permanently; loaded events stay.' },
  verify: { description: 'Compares the stored events with the staged ones again.' },
} as const;

export function isImportSource(plugin: Plugin): plugin is ImportSourcePlugin {
  return 'createSource' in plugin;
}

export type Plugin = TransformationPlugin | ImportAppPlugin | ImportSourcePlugin;

/** Settings of the right shape that cannot work; the message says what to change. */
export class SettingsError extends Error {
  override name = 'SettingsError';
  /** The setting to change; `undefined` if there are several. */
  readonly key: string | undefined;

  constructor(message: string, { key, ...options }: ErrorOptions & { readonly key?: string } = {}) {
    super(message, options);
    this.key = key;
  }
}

/** Creates the error of one setting. `expected` must not repeat a value that may be a secret. */
export function wrongSetting(key: string, expected: string, options?: ErrorOptions): SettingsError {
  return new SettingsError(`setting "${key}": ${expected}`, { ...options, key });
}

/** Checks the types of a built-in plugin where it is defined. */
export function definePlugin<P extends Plugin>(plugin: P): P {
  return plugin;
}

export function defineImportSource(
  definition: Omit<ImportSourcePlugin, 'kind' | 'version' | 'jobs'>,
): ImportSourcePlugin {
  return { ...definition, kind: 'import-app', version: '1.0.0', jobs: importRunJobs };
}

/** A transformation as its file defines it. */
type TransformationDefinition = Omit<TransformationPlugin, 'kind' | 'version' | 'example'> & {
  /** Default `1.0.0`. */
  readonly version?: string;
  readonly example: {
    readonly settings: SettingValues;
    /** The distinct_id defaults to `u1`. */
    readonly before: Omit<ExampleEvent, 'distinct_id'> & Partial<ExampleEvent>;
    /** The changed fields; null if the event is dropped. */
    readonly after: Partial<ExampleEvent> | null;
  };
};

export function defineTransformation(definition: TransformationDefinition): TransformationPlugin {
  const { settings, before: given, after: change } = definition.example;
  const before = { event: given.event, distinct_id: given.distinct_id ?? 'u1', properties: given.properties };
  const after = change && { ...before, ...change };
  return { version: '1.0.0', ...definition, kind: 'transformation', example: { settings, before, after } };
}
