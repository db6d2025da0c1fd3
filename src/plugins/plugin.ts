import type { AcceptedBatch } from '../wire/batch/ingest.ts';
import type { Source, SourceHost } from '../imports/source.ts';
import type { JsonObject } from '../base/json.ts';
import type { PluginField, SettingValues } from './fields.ts';
import type { TransformationHost } from './host.ts';

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

export type ExampleEvent = Pick<TransformEvent, 'event' | 'distinct_id' | 'properties'>;

/** One built-in transformation = one file: fields, example, code; its test beside it. */
export interface TransformationPlugin extends PluginBase {
  readonly kind: 'transformation';
  /** Names by which published plugins that do the same are known; for search, docs and whoever comes from there. */
  readonly alsoKnownAs?: readonly string[];
  /** Where it does something else than the published plugins it stands for: one sentence each, for docs. */
  readonly differences?: readonly string[];
  readonly example: {
    readonly settings: SettingValues;
    readonly before: ExampleEvent;
    /** Null: the event is dropped. */
    readonly after: ExampleEvent | null;
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

/** An import app whose records are staged, checked and loaded by runs (src/imports); its jobs steer them. */
export interface ImportSourcePlugin extends PluginBase {
  readonly kind: 'import-app';
  /** `importRunJobs`: they steer the runs and are done by src/imports. */
  readonly jobs: typeof importRunJobs;
  /** Settings of its own; those that every import has (format, target, speed, …) are added to them. */
  readonly fields: readonly PluginField[];
  /** Slugs of src/imports/formats that its records may have; the first is the default. Empty: any, and one must be chosen. */
  readonly formats: readonly string[];
  /** What `range` means here, one sentence; undefined: the source has no times to choose by. */
  readonly range: string | undefined;
  /** Settings that work, for docs and tests. */
  readonly example: SettingValues;
  /** Throws SettingsError when the settings cannot work; must do nothing that can be seen. */
  readonly createSource: (settings: SettingValues, host: SourceHost) => Source;
}

/** What the `job` operation does for an import source. */
export const importRunJobs = {
  run: { description: 'Starts a run, or goes on with the one that is there: export, check, load, verify, report.' },
  check: { description: 'The same up to the check: nothing is sent.' },
  pause: { description: 'Pauses the run; nothing is lost.' },
  resume: { description: 'Goes on where it was paused or failed.' },
  cancel: { description: 'Ends the run for good; what was loaded stays.' },
  verify: { description: 'Compares what is stored with what was staged, once more.' },
} as const;

export function isImportSource(plugin: Plugin): plugin is ImportSourcePlugin {
  return 'createSource' in plugin;
}

export type Plugin = TransformationPlugin | ImportAppPlugin | ImportSourcePlugin;

/** The settings are of the right shape but cannot work; the message tells a person what to change. */
export class SettingsError extends Error {
  override name = 'SettingsError';
  /** Of the setting to change; undefined: there is more than one. */
  readonly key: string | undefined;

  constructor(message: string, { key, ...options }: ErrorOptions & { readonly key?: string } = {}) {
    super(message, options);
    this.key = key;
  }
}

/** The error of one setting. `expected`: what it should be, without repeating a value that may be a secret. */
export function wrongSetting(key: string, expected: string, options?: ErrorOptions): SettingsError {
  return new SettingsError(`setting "${key}": ${expected}`, { ...options, key });
}

/** Checks the types of a built-in plugin where it is written. */
export function definePlugin<P extends Plugin>(plugin: P): P {
  return plugin;
}

export function defineImportSource(
  definition: Omit<ImportSourcePlugin, 'kind' | 'version' | 'jobs'>,
): ImportSourcePlugin {
  return { ...definition, kind: 'import-app', version: '1.0.0', jobs: importRunJobs };
}

/** A transformation as its file writes it. */
export type TransformationDefinition = Omit<TransformationPlugin, 'kind' | 'version' | 'example'> & {
  /** `1.0.0` when left out. */
  readonly version?: string;
  readonly example: {
    readonly settings: SettingValues;
    /** Of `u1` when nobody is named. */
    readonly before: Omit<ExampleEvent, 'distinct_id'> & Partial<ExampleEvent>;
    /** What of it changes. Null: the event is dropped. */
    readonly after: Partial<ExampleEvent> | null;
  };
};

export function defineTransformation(definition: TransformationDefinition): TransformationPlugin {
  const { settings, before: given, after: change } = definition.example;
  const before = { event: given.event, distinct_id: given.distinct_id ?? 'u1', properties: given.properties };
  const after = change && { ...before, ...change };
  return { version: '1.0.0', ...definition, kind: 'transformation', example: { settings, before, after } };
}
