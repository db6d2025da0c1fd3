import type { Command } from 'commander';
import type { ProjectRecord } from '../../wire/contract/projects.ts';
import { listAll } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { addOpenApiOptions, refusedAs, withApi, type OpenApiOptions } from '../open-api.ts';
import { showList, showRecord, showTable, type OutputOptions } from '../output.ts';
import { countOf } from '../read-arguments.ts';
import type { Terminal } from '../terminal.ts';
import { limitsCommand } from './project-limits.ts';
import { noProject, onePath, projectsPath as path } from '../project-path.ts';

interface ProjectOptions extends OutputOptions, OpenApiOptions {
  readonly yes?: boolean;
  readonly timezone?: string;
}

export function projectsCommand(parent: Command, terminal: Terminal): void {
  const projects = parent.command('projects');

  addOpenApiOptions(projects.command('list'))
    .description('list the projects')
    .action(async (options: ProjectOptions) => {
      const found = await withApi(options, terminal, (api) => listAll<ProjectRecord>(api, path));
      await showList(terminal, options, found, () => showProjects(terminal, found));
    });

  addOpenApiOptions(projects.command('create'))
    .description('create a project and its key')
    .argument('<name>', 'name to show')
    .option('--timezone <zone>', 'IANA name such as Europe/Paris', 'UTC')
    .action(async (name: string, { timezone, ...options }: ProjectOptions) => {
      const made = await withApi(options, terminal, (api) =>
        api.send<ProjectRecord>('POST', path, { name, timezone }).catch(refusedAs('')),
      );
      await show(terminal, made, options);
    });

  addOpenApiOptions(projects.command('spread'))
    .description(
      'spread the events of a project over several slots of a cluster, by distinct_id; 1 keeps them in one slot',
    )
    .argument('<id>', 'number of the project')
    .argument('<slots>', 'how many slots')
    .action(async (id: string, slots: string, options: ProjectOptions) => {
      const one = onePath(id);
      const body = { spread: countOf('slots', slots, 1) };
      const spread = await withApi(options, terminal, (api) =>
        api.send<ProjectRecord>('PATCH', one, body).catch(refusedAs(noProject(id))),
      );
      await show(terminal, spread, options);
    });

  limitsCommand(projects, terminal);
  changeCommands(projects, terminal);
}

function changeCommands(projects: Command, terminal: Terminal): void {
  addOpenApiOptions(projects.command('rotate-token'))
    .description('give a project a new key; the old one stops working immediately')
    .argument('<id>', 'number of the project')
    .option('--yes', 'do not ask')
    .action(async (id: string, options: ProjectOptions) => {
      const question = `Rotate the key of project ${id}? Clients that use the old one are refused.`;
      await confirm(terminal.process, question, options);
      const rotated = await withApi(options, terminal, (api) =>
        api.send<ProjectRecord>('POST', `${onePath(id)}reset_token/`, {}).catch(refusedAs(noProject(id))),
      );
      await show(terminal, rotated, options);
    });

  addOpenApiOptions(projects.command('delete'))
    .description(
      'delete a project with its configs, persons and groups; stored events stay in the event store, unreachable',
    )
    .argument('<id>', 'number of the project')
    .option('--yes', 'do not ask')
    .action(async (id: string, options: ProjectOptions) => {
      const one = onePath(id);
      await withApi(options, terminal, async (api) => {
        const { name } = await api.get<ProjectRecord>(one).catch(refusedAs(noProject(id)));
        await confirm(terminal.process, `Delete project ${id} "${name}" permanently?`, options);
        await api.send('DELETE', one).catch(refusedAs(noProject(id)));
        terminal.note(`deleted project ${id} "${name}"`);
      });
    });
}

function show(terminal: Terminal, project: ProjectRecord, options: ProjectOptions): Promise<void> {
  return showRecord(terminal, options, project, () => showProjects(terminal, [project]));
}

function showProjects(terminal: Terminal, projects: readonly ProjectRecord[]): void {
  showTable(terminal, projects, {
    ID: ({ id }) => String(id),
    NAME: ({ name }) => name,
    'PROJECT KEY': (project) => project.api_token,
    TIMEZONE: ({ timezone }) => timezone,
    SLOTS: ({ spread }) => String(spread),
    CREATED: (project) => project.created_at,
  });
}
