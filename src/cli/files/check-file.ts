import { knownZone } from '../../base/local-time.ts';
import { fieldsOf } from '../../imports/run/run-settings.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';
import { families, familyKeys, type ConfigEntry, type ConfigurationFile } from './configuration-file.ts';
import { sourceProblem } from './plan-plugins.ts';
import type { Family } from '../../wire/contract/plugins.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { checkSettings, isGiven, missingRequired, settingText } from '../../plugins/check-settings.ts';
import type { PluginField } from '../../plugins/fields.ts';
import { isImportSource, type Plugin } from '../../plugins/plugin.ts';
import { PlanError, readPlan } from '../../wire/tracking-plan/read-plan.ts';
import { nearest } from '../../base/nearest.ts';
import type { Path, Problem } from './read-file.ts';
import { referenceIn } from './references.ts';

/** A config of the file and its path. */
export interface PlacedEntry {
  readonly family: Family;
  readonly entry: ConfigEntry;
  readonly path: Path;
}

/** Result of checking a file without a service. */
export interface Checked {
  readonly problems: readonly Problem[];
  /** Warnings about what may be intended. */
  readonly notes: readonly Problem[];
}

export function checkFile(file: ConfigurationFile): Checked {
  const entries = file.projects.map((_, index) => entriesOf(file, index));
  return {
    problems: [
      ...pluginProblems(file),
      ...projectProblems(file),
      ...entries.flat().flatMap((each) => entryProblems(file, each)),
    ],
    notes: entries.flatMap(duplicates),
  };
}

/** Returns the configs of a project, family by family. */
export function entriesOf({ projects }: ConfigurationFile, index: number): PlacedEntry[] {
  return families.flatMap((family) => {
    const key = familyKeys[family];
    const entries = projects[index]?.[key] ?? [];
    return entries.map((entry, at) => ({ family, entry, path: ['projects', index, key, at] }));
  });
}

function pluginProblems({ plugins = {} }: ConfigurationFile): Problem[] {
  return Object.entries(plugins).flatMap(([slug, { source }]): Problem[] => {
    if (builtInRegistry.get(slug) !== undefined) {
      return [{ path: ['plugins', slug], message: 'is built in and must not be listed here' }];
    }
    const message = source === undefined ? undefined : sourceProblem(source);
    return message === undefined ? [] : [{ path: ['plugins', slug, 'source'], message }];
  });
}

function projectProblems({ projects }: ConfigurationFile): Problem[] {
  const names = projects.map(({ name }) => name);
  return projects.flatMap(({ name, timezone, retention, tracking_plan: plan }, index): Problem[] => {
    const path = ['projects', index];
    const isDuplicate = names.indexOf(name) < index;
    const isZone = timezone === undefined || knownZone(timezone) !== undefined;
    return [
      ...(isDuplicate ? [{ path: [...path, 'name'], message: `"${name}" is listed twice` }] : []),
      ...(isZone
        ? []
        : [{ path: [...path, 'timezone'], message: 'expected an IANA name such as Europe/Paris or UTC' }]),
      ...twiceIn(retention?.events ?? [], [...path, 'retention', 'events']),
      ...(plan === undefined || plan === null ? [] : planProblems(plan, [...path, 'tracking_plan'])),
    ];
  });
}

/** Returns event names that are listed twice. */
function twiceIn(rules: readonly { readonly event: string }[], path: Path): Problem[] {
  const names = rules.map(({ event }) => event);
  return names.flatMap((name, at) =>
    names.indexOf(name) < at ? [{ path: [...path, at, 'event'], message: `"${name}" is listed twice` }] : [],
  );
}

/** Returns what is wrong with a tracking plan. */
function planProblems(plan: unknown, path: Path): Problem[] {
  try {
    readPlan(plan);
    return [];
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
    return error.faults.map(({ path: place, detail }) => {
      // Names of properties may contain dots: the place in the file is that of the event.
      const [field = '', index, ...inEvent] = place.split('.');
      const at = [...(field === '' ? [] : [field]), ...(index === undefined ? [] : [Number(index)])];
      return { path: [...path, ...at], message: `${inEvent.length === 0 ? '' : `${inEvent.join('.')}: `}${detail}` };
    });
  }
}

function entryProblems(file: ConfigurationFile, { family, entry, path }: PlacedEntry): Problem[] {
  const plugin = builtInRegistry.get(entry.plugin);
  if (plugin !== undefined) {
    if (plugin.kind !== family) {
      return [
        { path: [...path, 'plugin'], message: `is of kind ${plugin.kind}: list it under ${familyKeys[plugin.kind]}` },
      ];
    }
    if (entry.version !== undefined) {
      return [{ path: [...path, 'version'], message: 'a built-in plugin always has the version of Millrace' }];
    }
    return [...settingProblems(fieldsOf(plugin), entry, path), ...scheduleProblems(plugin, entry, path)];
  }
  const installed = Object.keys(file.plugins ?? {});
  if (installed.includes(entry.plugin)) return [];
  const near = nearest(entry.plugin, [...installed, ...builtInRegistry.list().map(({ slug }) => slug)]);
  const hint = near === undefined ? '' : `did you mean "${near}"? `;
  const message = `"${entry.plugin}" is not built in; ${hint}list installed plugins under plugins, at least as "${entry.plugin}: {}"`;
  return [{ path: [...path, 'plugin'], message }];
}

/** Returns configs of a project that share plugin and name. */
function duplicates(entries: readonly PlacedEntry[]): Problem[] {
  const groups = Map.groupBy(entries, ({ family, entry }) => JSON.stringify([family, entry.plugin, entry.name]));
  return [...groups.values()].flatMap(([, second]) =>
    second === undefined
      ? []
      : [
          {
            path: second.path,
            message: 'has the same plugin and name as another config: only their order distinguishes them',
          },
        ],
  );
}

/** Returns the settings as they are in the file. */
export function settingsOf({ settings = {} }: ConfigEntry): JsonObject {
  // The parser refuses YAML beyond JSON: it creates plain values of the core schema only.
  return settings as JsonObject;
}

/** Converts numbers and booleans to the text that a plugin expects. */
export function plainValue(field: PluginField, value: JsonValue): JsonValue {
  if (field.type === 'json') return value;
  return typeof value === 'boolean' || field.type === 'number' ? settingText(value) : value;
}

/** Returns the settings that the plugin would refuse. Values of references are not checked. */
export function settingProblems(fields: readonly PluginField[], entry: ConfigEntry, path: Path): Problem[] {
  const given = settingsOf(entry);
  const byKey = new Map(fields.map((field) => [field.key, field]));
  const problems = Object.entries(given).flatMap(([key, value]): Problem[] => {
    const field = byKey.get(key);
    const message = field === undefined ? unknownSetting(key, fields) : problemOf(field, value);
    return message === undefined ? [] : [{ path: [...path, 'settings', key], message }];
  });
  return [...problems, ...missing(fields, given, path)];
}

/** Returns what the service would refuse in a schedule. */
function scheduleProblems(plugin: Plugin, { schedule }: ConfigEntry, path: Path): Problem[] {
  if (schedule === undefined || schedule === null) return [];
  const at = [...path, 'schedule'];
  if (!isImportSource(plugin) || plugin.range === undefined) {
    return [
      { path: at, message: 'expected an import app whose source can select by time; this one cannot be scheduled' },
    ];
  }
  const isOne = (schedule.every_minutes === undefined) !== (schedule.daily_at === undefined);
  return isOne ? [] : [{ path: at, message: 'expected either every_minutes or daily_at' }];
}

function unknownSetting(key: string, fields: readonly PluginField[]): string {
  const known = fields.map((field) => field.key);
  const near = nearest(key, known);
  if (near !== undefined) return `unknown setting; did you mean "${near}"?`;
  return known.length === 0
    ? 'unknown setting; the plugin has none'
    : `unknown setting; expected one of ${known.join(', ')}`;
}

function problemOf(field: PluginField, value: JsonValue): string | undefined {
  if (!isGiven(value)) return undefined;
  const reference = referenceIn(value);
  if (field.type === 'attachment') {
    return reference !== undefined && 'file' in reference ? undefined : 'expected {file: PATH}';
  }
  if (field.secret === true) {
    return reference === undefined ? 'a secret: expected {env: NAME} or {file: PATH}, not the value' : undefined;
  }
  if (reference !== undefined && field.type !== 'json') return undefined;
  const plain = plainValue(field, value);
  // The parser has already dropped the zero of 1.10.
  if (typeof plain === 'number') return 'expected text; quote the number';
  return checkSettings([field], { [field.key]: plain })[0]?.detail;
}

function missing(fields: readonly PluginField[], given: JsonObject, path: Path): Problem[] {
  const named = (value: JsonValue): boolean => referenceIn(value) !== undefined;
  const files = Object.keys(given).filter((key) => named(given[key] ?? null));
  return missingRequired(fields, given, new Set(files)).map((key) => ({
    path: [...path, 'settings'],
    message: `expected "${key}", which the plugin requires`,
  }));
}
