import { counted } from '../../base/integer-text.ts';
import type { JsonValue } from '../../base/json.ts';
import { printable, type Style, type Terminal } from '../terminal.ts';
import type { Change } from './config-changes.ts';
import { familyKeys } from './configuration-file.ts';
import {
  countPlan,
  isEmptyPlan,
  type ConfigPlan,
  type FamilyPlan,
  type Plan,
  type PluginPlan,
  type TrackingPlanPlan,
} from './plan.ts';

/** Longer values are cut; the file contains them. */
const valueCharsMax = 160;

/** A line of the plan, with a sign for the kind of change. */
interface Line {
  readonly depth: number;
  readonly sign: ' ' | '+' | '~' | '-' | '>' | '?';
  readonly text: string;
}

/** Shows the plan on stdout; nothing if there are no changes. */
export function showPlan(terminal: Terminal, plan: Plan): void {
  for (const { depth, sign, text } of planLines(plan)) {
    const style = styles[sign];
    const line = `${'  '.repeat(depth)}${sign} ${printable(text)}`;
    terminal.data(style === undefined ? line : terminal.styled(style, line));
  }
}

const styles: Readonly<Partial<Record<Line['sign'], Style>>> = {
  '+': 'green',
  '~': 'yellow',
  '-': 'red',
  '>': 'yellow',
};

/** Summarises the changes in one sentence, and what is not listed in the file. */
export function planSentence(plan: Plan): string {
  const { create, change, bin, move, left, uncompared } = countPlan(plan);
  const parts = [
    ...(create > 0 ? [`${create} to create`] : []),
    ...(change > 0 ? [`${change} to change`] : []),
    ...(move > 0 ? [`${move} to move`] : []),
    ...(bin > 0 ? [`${bin} to delete`] : []),
  ];
  const notes = [
    ...(left > 0 ? [`${left} not in the file and kept; --prune deletes them`] : []),
    ...(uncompared > 0 ? [`${uncompared} not compared`] : []),
  ];
  const done = isEmptyPlan(plan) ? 'no differences' : parts.join(', ');
  return [done, ...notes].join('; ');
}

function planLines({ plugins, projects }: Plan): Line[] {
  return [
    ...plugins.map(pluginLine),
    ...projects.flatMap(({ name, id, changes, rules, families, trackingPlan }) => {
      const body = [
        ...changes.map((change) => changeLine(change, 1)),
        ...expiryLines(rules?.retention?.expires ?? 0),
        ...families.flatMap(familyLines),
        ...trackingPlanLines(trackingPlan),
      ];
      if (body.length === 0 && id !== undefined) return [];
      const title = id === undefined ? `project "${name}"` : `project "${name}" (${id})`;
      return [line(0, id === undefined ? '+' : ' ', title), ...body];
    }),
  ];
}

function expiryLines(events: number): Line[] {
  if (events === 0) return [];
  return [line(1, '-', `the retention removes ${counted(events, 'event')} permanently, from the next night on`)];
}

function trackingPlanLines(plan: TrackingPlanPlan | undefined): Line[] {
  if (plan === undefined) return [];
  const title = line(1, plan.after === undefined ? '-' : ' ', 'tracking_plan');
  const events = plan.events.map(({ event, property, kind }) =>
    line(2, signs[kind], `"${event}"${property === null ? '' : `: ${property}`}`),
  );
  return [title, ...plan.changes.map((change) => changeLine(change, 2)), ...events];
}

const signs = { added: '+', changed: '~', removed: '-' } as const;

function pluginLine({ slug, source, present }: PluginPlan): Line {
  if (present === undefined) return line(0, '+', `plugin ${slug} from ${source}`);
  return line(0, '~', `plugin ${slug}: ${present.version} from ${present.source} → ${source}`);
}

function familyLines({ family, configs, moved }: FamilyPlan): Line[] {
  const body = configs.flatMap((config, index) => [
    ...configLines(config),
    ...(moved.includes(config.name) ? [line(2, '>', `${title(config)} moves to position ${index + 1}`)] : []),
  ]);
  return body.length === 0 ? [] : [line(1, ' ', familyKeys[family]), ...body];
}

function configLines(config: ConfigPlan): Line[] {
  switch (config.action) {
    case 'create':
      return [line(2, '+', title(config)), ...config.changes.map((change) => changeLine(change, 3))];
    case 'keep': {
      const notes = config.uncompared.map((each) => line(3, '?', `settings.${each}: not compared`));
      if (config.changes.length === 0 && notes.length === 0) return [];
      const sign = config.changes.length === 0 ? ' ' : '~';
      return [line(2, sign, title(config)), ...config.changes.map((change) => changeLine(change, 3)), ...notes];
    }
    case 'bin':
      return [line(2, '-', `${title(config)}: delete`)];
    case 'leave':
      return [line(2, '?', `${title(config)}: not in the file, kept`)];
  }
}

function title(config: ConfigPlan): string {
  const plugin = config.action === 'create' ? config.entry.plugin : config.present.plugin;
  return `"${config.name}" (${plugin})`;
}

function changeLine({ field, before, after, hidden }: Change, depth: number): Line {
  const shown = (value: JsonValue): string => (hidden === true ? String(value) : cut(JSON.stringify(value)));
  if (before === undefined) return line(depth, '+', `${field}: ${after === undefined ? '' : shown(after)}`);
  if (after === undefined) return line(depth, '-', `${field}: ${shown(before)}`);
  return line(depth, '~', `${field}: ${shown(before)} → ${shown(after)}`);
}

function cut(text: string): string {
  return text.length > valueCharsMax ? `${text.slice(0, valueCharsMax)}… (${text.length} characters)` : text;
}

function line(depth: number, sign: Line['sign'], text: string): Line {
  return { depth, sign, text };
}

/** Returns the plan as JSON. */
export function planRecord(plan: Plan): object {
  return {
    differences: !isEmptyPlan(plan),
    ...countPlan(plan),
    plugins: plan.plugins.map(({ slug, source, present }) => ({ slug, source, present: present ?? null })),
    projects: plan.projects.map(({ name, id, changes, rules, families, trackingPlan }) => ({
      name,
      id: id ?? null,
      changes,
      ...(rules?.retention !== undefined && { expiring_events: rules.retention.expires }),
      ...Object.fromEntries(families.map((family) => [familyKeys[family.family], familyRecord(family)])),
      ...(trackingPlan !== undefined && {
        tracking_plan: { changes: trackingPlan.changes, events: trackingPlan.events },
      }),
    })),
  };
}

function familyRecord({ configs, moved }: FamilyPlan): object {
  return {
    moved,
    configs: configs.map((config) => ({
      action: config.action === 'keep' && config.changes.length > 0 ? 'change' : config.action,
      name: config.name,
      plugin: config.action === 'create' ? config.entry.plugin : config.present.plugin,
      id: config.action === 'create' ? null : config.present.id,
      changes: 'changes' in config ? config.changes : [],
      uncompared: 'uncompared' in config ? config.uncompared : [],
    })),
  };
}
