import { knownZone } from '../../base/local-time.ts';
import { fieldsOf } from '../../imports/run/run-settings.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';
import { scheduleProblems, settingProblems } from './check-config.ts';
import { families, familyKeys, type ConfigEntry, type ConfigurationFile } from './configuration-file.ts';
import { nearest } from '../../base/nearest.ts';
import { sourceProblem } from './plan-plugins.ts';
import type { Path, Problem } from './read-file.ts';
import type { Family } from '../../wire/contract/plugins.ts';

/** A config of the file and where it stands. */
export interface PlacedEntry {
  readonly family: Family;
  readonly entry: ConfigEntry;
  readonly path: Path;
}

/** What can be said of a file without a server. */
export interface Checked {
  readonly problems: readonly Problem[];
  /** What may be meant so. */
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
    notes: entries.flatMap(twins),
  };
}

/** The configs of one project, family by family. */
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
      return [{ path: ['plugins', slug], message: 'is built in: it comes with the program, and is not listed here' }];
    }
    const message = source === undefined ? undefined : sourceProblem(source);
    return message === undefined ? [] : [{ path: ['plugins', slug, 'source'], message }];
  });
}

function projectProblems({ projects }: ConfigurationFile): Problem[] {
  const names = projects.map(({ name }) => name);
  return projects.flatMap(({ name, timezone }, index): Problem[] => {
    const path = ['projects', index];
    const isTwin = names.indexOf(name) < index;
    const isZone = timezone === undefined || knownZone(timezone) !== undefined;
    return [
      ...(isTwin ? [{ path: [...path, 'name'], message: `"${name}" is listed twice` }] : []),
      ...(isZone
        ? []
        : [{ path: [...path, 'timezone'], message: 'expected an IANA name such as Europe/Paris or UTC' }]),
    ];
  });
}

function entryProblems(file: ConfigurationFile, { family, entry, path }: PlacedEntry): Problem[] {
  const plugin = builtInRegistry.get(entry.plugin);
  if (plugin !== undefined) {
    if (plugin.kind !== family) {
      return [{ path: [...path, 'plugin'], message: `is ${plugin.kind}: it belongs under ${familyKeys[plugin.kind]}` }];
    }
    if (entry.version !== undefined) {
      return [{ path: [...path, 'version'], message: 'a built-in plugin has the version of the program' }];
    }
    return [...settingProblems(fieldsOf(plugin), entry, path), ...scheduleProblems(plugin, entry, path)];
  }
  const installed = Object.keys(file.plugins ?? {});
  if (installed.includes(entry.plugin)) return [];
  const near = nearest(entry.plugin, [...installed, ...builtInRegistry.list().map(({ slug }) => slug)]);
  const hint = near === undefined ? '' : `did you mean "${near}"? `;
  const message = `"${entry.plugin}" is not built in; ${hint}an installed one is listed under plugins, at least as "${entry.plugin}: {}"`;
  return [{ path: [...path, 'plugin'], message }];
}

/** Configs of one project that have the same plugin and name. */
function twins(entries: readonly PlacedEntry[]): Problem[] {
  const groups = Map.groupBy(entries, ({ family, entry }) => JSON.stringify([family, entry.plugin, entry.name]));
  return [...groups.values()].flatMap(([, second]) =>
    second === undefined
      ? []
      : [{ path: second.path, message: 'has the plugin and name of another: they are told apart by their order only' }],
  );
}
