import { existsSync } from 'node:fs';
import type { PluginField } from '../../plugins/fields.ts';
import type { TransformationPlugin } from '../../plugins/plugin.ts';
import type { JsonValue } from '../../base/json.ts';
import { builtInPlugins } from '../../plugins/built-in/registry.ts';
import { readTrialEvent, TrialEventError, type TrialEvent } from '../../pipeline/transform/trial-event.ts';
import { toTrialRecord, type TrialRecord } from '../../pipeline/transform/trial-record.ts';
import { openTrial, type TrialConfig } from '../../pipeline/transform/trial-run.ts';
import type { CommandProcess } from '../terminal.ts';
import { CommandError } from '../exit-codes.ts';
import { settingsFrom } from '../setting-options.ts';
import { openTrialHost, type TrialHost } from './trial-host.ts';
import { readPlugin, type LocalPlugin } from './read-plugin.ts';
import { checkAllUsed, fieldsGiven, readSettings, settingsFor, type GivenSettings } from './read-settings.ts';

type Subject = TransformationPlugin | LocalPlugin;

/** Runs events through local plugins and built-ins in order, in the sandbox and without a service. Errors: CommandError. */
export async function runLocally(
  process: CommandProcess,
  plugins: readonly string[],
  events: readonly JsonValue[],
  options: Parameters<typeof readSettings>[0],
): Promise<TrialRecord[]> {
  const given = readSettings(options);
  const now = Date.now();
  const trialEvents = events.map((event, index) => readEvent(event, index, now));
  const local = openTrialHost(settingsFrom({}, process).settings, process);
  try {
    return await runAll(local, plugins, trialEvents, given);
  } finally {
    await local.close();
  }
}

async function runAll(
  { packages, depsFor }: TrialHost,
  plugins: readonly string[],
  events: readonly TrialEvent[],
  given: GivenSettings,
): Promise<TrialRecord[]> {
  const subjects: Subject[] = [];
  for (const name of plugins) subjects.push(existsSync(name) ? await readPlugin(name, packages) : builtIn(name));
  const fields = subjects.map((subject) => subject.fields ?? fieldsGiven(given));
  checkAllUsed(given, fields);
  const settings = fields.map((each) => settingsFor(given, each));
  const configs = subjects.map((subject, index) => configOf(subject, index + 1, fields[index] ?? [], settings[index]));
  const deps = depsFor({
    // Ids of configs and versions start at 1, in the order of the plugins.
    programOf: (id) => programOf(subjects[id - 1]),
    filesOf: (id) => settings[id - 1]?.files ?? new Map(),
  });
  const trial = openTrial(deps, configs);
  try {
    const records: TrialRecord[] = [];
    for (const event of events) records.push(toTrialRecord(await trial.run(event)));
    return records;
  } finally {
    await trial.close();
  }
}

function readEvent(event: JsonValue, index: number, now: number): TrialEvent {
  try {
    return readTrialEvent(event, now);
  } catch (cause) {
    if (!(cause instanceof TrialEventError)) throw cause;
    throw new CommandError('usage', `--event: event ${index + 1}: ${cause.message}`, { cause });
  }
}

function builtIn(name: string): TransformationPlugin {
  const candidates = builtInPlugins.filter((plugin) => plugin.kind === 'transformation');
  const found = candidates.find(({ slug }) => slug === name);
  if (found !== undefined) return found;
  const slugs = candidates.map(({ slug }) => slug).join(', ');
  throw new CommandError(
    'notFound',
    `expected a file or a built-in transformation, got: ${name}; built-in ones: ${slugs}`,
  );
}

function programOf(subject: Subject | undefined) {
  if (subject !== undefined && 'program' in subject) return subject.program;
  throw new Error('expected a local plugin');
}

function configOf(
  subject: Subject,
  id: number,
  fields: readonly PluginField[],
  settings: GivenSettings = { values: {}, files: new Map() },
): TrialConfig {
  const isBuiltIn = 'slug' in subject;
  return {
    id,
    name: subject.name,
    projectId: 1,
    slug: isBuiltIn ? subject.slug : subject.name,
    pluginId: id,
    pluginName: subject.name,
    pluginVersionId: isBuiltIn ? null : id,
    fields,
    settings: settings.values,
    attached: new Set(settings.files.keys()),
    isStep: isBuiltIn || subject.isStep,
  };
}
