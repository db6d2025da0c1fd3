import type { Clock } from '../../base/clock.ts';
import { ApiError, type FieldError } from '../../wire/contract/errors.ts';
import type { DraftStep } from '../../wire/contract/transformation-tests.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { choosePlugin } from '../../plugins/configs/choose-plugin.ts';
import { shownName } from '../../plugins/configs/config-record.ts';
import { attachedKeys, listConfigs, type StoredConfig } from '../../plugins/configs/stored-config.ts';
import { findPluginVersion, type StoredPlugin } from '../../plugins/configs/stored-plugin.ts';
import { withEventFilter } from '../../plugins/event-filter.ts';
import { isField, type PluginField, type SettingValues } from '../../plugins/fields.ts';
import { PluginPackageError } from '../../plugins/plugin-package-error.ts';
import { isSameSource } from '../../plugins/configs/same-source.ts';
import { preparePlugin, type PrepareDeps } from '../../plugins/packages/prepare-plugin.ts';
import { draftSettings, usesStoredSecrets, withoutStoredSecrets } from './draft-settings.ts';
import type { TrialConfig, TrialProgram } from '../../pipeline/transform/trial-run.ts';

export interface DraftDeps {
  readonly db: Metadata;
  /** Builds programs from code that is not installed. */
  readonly packages: PrepareDeps;
}

/** Differences from the stored config; see the contract. */
export type DraftChanges = Pick<DraftStep, 'settings' | 'files' | 'version'>;

/** A config to be tested. */
export interface Draft {
  readonly config: TrialConfig;
  /** Program of code that is not installed, identified by `config.pluginVersionId`. */
  readonly program: TrialProgram | undefined;
  /** The stored config whose secrets it uses, if any. */
  readonly secretsOf: StoredConfig | undefined;
}

interface DraftPlace {
  readonly projectId: number;
  readonly organizationId: string;
  /** Position in the chain, from 0. */
  readonly index: number;
}

/** Base of a draft. */
interface Base {
  /** 0 if not stored yet. */
  readonly id: number;
  /** Empty for the plugin's name. */
  readonly name: string;
  /** `undefined` for code only. */
  readonly plugin: StoredPlugin | undefined;
  readonly settings: SettingValues;
  readonly attached: ReadonlySet<string>;
  /** `undefined` if not stored yet. */
  readonly stored?: StoredConfig;
}

/** Returns a stored config with changes. @throws ApiError naming what is refused */
export function draftOfConfig(
  deps: DraftDeps,
  place: DraftPlace,
  stored: StoredConfig,
  changes: DraftChanges,
): Promise<Draft> {
  const { id, plugin, settings } = stored;
  return draftOf(
    deps,
    place,
    { id, name: shownName(stored), plugin, settings, attached: attachedKeys(stored), stored },
    changes,
  );
}

/** Returns a config that is not stored: of a plugin, or of code only. @throws ApiError naming what is refused */
export async function draftOfPlugin(
  deps: DraftDeps,
  place: DraftPlace,
  pluginId: number | undefined,
  changes: DraftChanges,
): Promise<Draft> {
  const { projectId, organizationId } = place;
  const work = { tx: deps.db, projectId, actor: { organizationId } };
  const plugin = pluginId === undefined ? undefined : await choosePlugin(work, 'transformation', pluginId);
  return draftOf(deps, place, { id: 0, name: '', plugin, settings: {}, attached: new Set() }, changes);
}

/** Returns the enabled transformations of a project in order. */
export async function enabledChain(
  deps: DraftDeps & { readonly clock: Clock },
  { id: projectId, organizationId }: { readonly id: number; readonly organizationId: string },
): Promise<TrialConfig[]> {
  const stored = await listConfigs(deps.db, { projectId, family: 'transformation', now: deps.clock.now() });
  const configs: TrialConfig[] = [];
  for (const [index, config] of stored.filter(({ enabled }) => enabled).entries()) {
    configs.push((await draftOfConfig(deps, { projectId, organizationId, index }, config, {})).config);
  }
  return configs.filter(({ isStep }) => isStep);
}

async function draftOf(deps: DraftDeps, place: DraftPlace, base: Base, changes: DraftChanges): Promise<Draft> {
  const plugin = await versionOf(deps, place, base.plugin, changes.version);
  const code = changes.files === undefined ? undefined : await prepare(deps, changes.files, plugin?.name);
  const fields = keepingSecrets(code?.fields ?? plugin?.fields ?? [], base.plugin?.fields ?? []);
  const given = (changes.settings ?? {}) as SettingValues;
  const isForeign = code !== undefined || !(await isSameSource(deps.db, base.plugin?.versionId, plugin?.versionId));
  const own = isForeign ? withoutStoredSecrets(base, fields) : base;
  const { settings, attached } = draftSettings(own, fields, given);
  // Programs that are not stored have negative ids.
  const pluginVersionId = code === undefined ? (plugin?.versionId ?? null) : -1 - place.index;
  const methods = code?.methods ?? plugin?.capabilities.methods ?? [];
  const pluginName = plugin?.name ?? code?.program.pluginName ?? '';
  const config: TrialConfig = {
    id: base.id,
    name: base.name === '' ? pluginName : base.name,
    projectId: place.projectId,
    slug: plugin?.slug ?? '',
    pluginId: plugin?.id ?? 0,
    pluginName,
    pluginVersionId,
    fields,
    settings,
    attached,
    isStep: pluginVersionId === null || methods.some((method) => method.startsWith('processEvent')),
  };
  const secretsOf = usesStoredSecrets(own, fields, given) ? base.stored : undefined;
  return { config, program: code?.program, secretsOf };
}

async function versionOf(
  { db }: DraftDeps,
  { organizationId }: DraftPlace,
  plugin: StoredPlugin | undefined,
  version: string | undefined,
): Promise<StoredPlugin | undefined> {
  if (version === undefined) return plugin;
  const id = plugin?.id ?? 0;
  const found = await findPluginVersion(db, { id, organizationId, version });
  if (found !== undefined) return found;
  const detail = `The plugin has no version "${version}" here. GET …/plugins/${id}/versions/ lists them.`;
  throw new ApiError('does_not_exist', detail, { attr: 'version' });
}

async function prepare({ packages }: DraftDeps, files: Readonly<Record<string, string>>, name = 'Not installed') {
  try {
    const { code, manifest, capabilities } = await preparePlugin(packages, { kind: 'files', files }, { name });
    const program: TrialProgram = { pluginName: manifest.name ?? name, code };
    return { program, fields: withEventFilter(manifest.schema).filter(isField), methods: capabilities.methods };
  } catch (cause) {
    if (!(cause instanceof PluginPackageError)) throw cause;
    throw new ApiError('invalid_input', cause.message, { attr: 'files', cause });
  }
}

/** A stored secret stays one, whatever the tested code declares. */
function keepingSecrets(fields: readonly PluginField[], stored: readonly PluginField[]): readonly PluginField[] {
  const secrets = new Set(stored.filter(({ secret }) => secret === true).map(({ key }) => key));
  return fields.map((field) => (secrets.has(field.key) ? { ...field, secret: true } : field));
}

/** Prefixes the field of an error with the step's position: `steps__2__settings.name`. */
export async function inStep<T>(index: number, work: Promise<T>): Promise<T> {
  const prefixed = (attr: string | null): string => `steps__${index}${attr === null ? '' : `__${attr}`}`;
  try {
    return await work;
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause;
    const errors = cause.errors.flatMap((error) => ('attr' in error ? [error as FieldError] : []));
    const attr = prefixed(cause.attr);
    throw new ApiError(cause.code, cause.detail, {
      attr,
      errors: errors.map(({ code, detail, attr: own }) => ({ code, detail, attr: prefixed(own) })),
      cause,
    });
  }
}
