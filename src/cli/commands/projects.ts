import type { Command } from 'commander';
import {
  createProject,
  deleteProject,
  getProject,
  listProjects,
  rotateProjectToken,
  type Project,
} from '../../stores/metadata/projects.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { systemActor } from '../../stores/metadata/record-change.ts';
import { recordProject } from '../../stores/metadata/record-project.ts';
import { spreadProject, SpreadRefusedError } from '../../stores/metadata/spread-project.ts';
import { confirm } from '../confirm.ts';
import { withMetadata } from '../with-metadata.ts';
import { CommandError } from '../exit-codes.ts';
import { showList, showRecord, type OutputOptions } from '../output.ts';
import { addStoreOptions, storeOf } from '../setting-options.ts';
import type { Terminal } from '../terminal.ts';

interface ProjectOptions extends OutputOptions {
  readonly yes?: boolean;
  readonly timezone?: string;
}

/** Projects, on the metadata store itself: works without a server, and beside one. */
export function projectsCommand(parent: Command, terminal: Terminal): void {
  const projects = parent.command('projects').description('projects and their keys, in the data directory itself');

  addStoreOptions(projects.command('list'))
    .description('list the projects')
    .action(async (options: ProjectOptions) => {
      const found = await withMetadata(storeOf(options, terminal.process), (db, owner) =>
        listProjects(db, { organizationId: owner.organizationId }),
      );
      await showList(terminal, options, found.projects.map(shown), () =>
        terminal.table(headings, found.projects.map(row)),
      );
    });

  addStoreOptions(projects.command('create'))
    .description('make a project with a key of its own')
    .argument('<name>', 'name to show')
    .option('--timezone <zone>', 'IANA name such as Europe/Paris', 'UTC')
    .action(async (name: string, options: ProjectOptions) => {
      const timezone = checkedZone(options.timezone ?? 'UTC');
      if (name.trim() === '' || name.length > 200)
        throw new CommandError('usage', 'expected a name of 1 to 200 characters');
      const made = await withMetadata(storeOf(options, terminal.process), (db, { organizationId }) =>
        db.transaction().execute(async (tx) => {
          const now = Date.now();
          const after = await createProject(tx, { organizationId, name, timezone }, now);
          await recordProject(tx, systemActor(organizationId), { activity: 'created', after, now });
          return after;
        }),
      );
      await show(terminal, made, options);
    });

  changeCommands(projects, terminal);
  spreadCommand(projects, terminal);
}

function spreadCommand(projects: Command, terminal: Terminal): void {
  addStoreOptions(projects.command('spread'))
    .description('spread the events of a project over several slots of a cluster, by distinct_id; 1: all in one')
    .argument('<id>', 'number of the project')
    .argument('<slots>', 'how many slots')
    .action(async (id: string, slots: string, options: ProjectOptions) => {
      const over = slotsOf(slots);
      const spread = await withMetadata(storeOf(options, terminal.process), (db) =>
        db.transaction().execute(async (tx) => {
          const now = Date.now();
          const before = await getProject(tx, numberOf(id));
          const after = before && (await spreadAs(tx, before.id, over, now));
          if (before === undefined || after === undefined) throw noProject(id);
          await recordProject(tx, systemActor(after.organizationId), { activity: 'updated', before, after, now });
          return after;
        }),
      );
      await show(terminal, spread, options);
    });
}

async function spreadAs(tx: Queries, id: number, over: number, now: number): Promise<Project | undefined> {
  try {
    return await spreadProject(tx, id, over, now);
  } catch (error) {
    if (!(error instanceof SpreadRefusedError)) throw error;
    throw new CommandError('usage', error.message);
  }
}

function changeCommands(projects: Command, terminal: Terminal): void {
  addStoreOptions(projects.command('rotate-token'))
    .description('give a project a new key; the old one stops at once')
    .argument('<id>', 'number of the project')
    .option('--yes', 'do not ask')
    .action(async (id: string, options: ProjectOptions) => {
      await confirm(
        terminal.process,
        `Rotate the key of project ${id}? Clients that use the old one are refused.`,
        options,
      );
      const rotated = await withMetadata(storeOf(options, terminal.process), (db) =>
        db.transaction().execute(async (tx) => {
          const now = Date.now();
          const before = await getProject(tx, numberOf(id));
          const after = await rotateProjectToken(tx, numberOf(id), now);
          if (before === undefined || after === undefined) throw noProject(id);
          await recordProject(tx, systemActor(after.organizationId), { activity: 'token_reset', before, after, now });
          return after;
        }),
      );
      await show(terminal, rotated, options);
    });

  addStoreOptions(projects.command('delete'))
    .description(
      'delete a project with its configs, persons and groups; stored events stay in the event store, unreachable',
    )
    .argument('<id>', 'number of the project')
    .option('--yes', 'do not ask')
    .action(async (id: string, options: ProjectOptions) => {
      const project = await withMetadata(storeOf(options, terminal.process), (db) => getProject(db, numberOf(id)));
      if (project === undefined) throw noProject(id);
      await confirm(terminal.process, `Delete project ${id} "${project.name}" for good?`, options);
      await withMetadata(storeOf(options, terminal.process), async (db) => {
        if (!(await deleteProject(db, project.id))) return;
        const deletion = { activity: 'deleted', before: project, now: Date.now() } as const;
        await recordProject(db, systemActor(project.organizationId), deletion);
      });
      terminal.note(`deleted project ${id} "${project.name}"`);
    });
}

function show(terminal: Terminal, project: Project, options: ProjectOptions): Promise<void> {
  return showRecord(terminal, options, shown(project), () => terminal.table(headings, [row(project)]));
}

const headings = ['ID', 'NAME', 'PROJECT KEY', 'TIMEZONE', 'SLOTS', 'CREATED'];

function row(project: Project): string[] {
  return [
    String(project.id),
    project.name,
    project.apiToken,
    project.timezone,
    String(project.spread),
    project.createdAt,
  ];
}

/** As the API shows a project. */
function shown(project: Project): Record<string, unknown> {
  return {
    id: project.id,
    uuid: project.uuid,
    name: project.name,
    organization: project.organizationId,
    api_token: project.apiToken,
    timezone: project.timezone,
    spread: project.spread,
    created_at: project.createdAt,
  };
}

function numberOf(id: string): number {
  if (/^\d{1,9}$/.test(id)) return Number(id);
  throw new CommandError('usage', `expected the number of a project, got: ${id}`);
}

function slotsOf(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new CommandError('usage', `expected a number of slots from 1 on, got: ${text}`);
}

function checkedZone(zone: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    throw new CommandError('usage', `--timezone: expected an IANA name such as Europe/Paris, got: ${zone}`);
  }
}

function noProject(id: string): CommandError {
  return new CommandError('notFound', `no project ${id}; "millrace projects list" shows them`);
}
