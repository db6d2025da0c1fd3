import { Option, type Command } from 'commander';
import { checkedUrl } from '../api-client.ts';
import { checkedProject } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { CommandError } from '../exit-codes.ts';
import { addOutputOptions, showList, showTable, type OutputOptions } from '../output.ts';
import { profileOf, profilesFile, readProfiles, writeProfiles, type Profile } from '../profiles/profiles.ts';
import { textOrFile } from '../read-arguments.ts';
import type { Terminal } from '../terminal.ts';

interface AddOptions {
  readonly url: string;
  readonly apiKey?: string;
  readonly projectKey?: string;
  readonly project?: string;
  readonly use?: boolean;
}

export function profilesCommand(parent: Command, terminal: Terminal): void {
  const profiles = parent.command('profiles');
  listCommand(profiles, terminal);
  addCommand(profiles, terminal);
  useCommand(profiles, terminal);
  removeCommand(profiles, terminal);
}

function listCommand(profiles: Command, terminal: Terminal): void {
  addOutputOptions(profiles.command('list'))
    .description('list the profiles; keys are never shown')
    .action(async (options: OutputOptions) => {
      const { current, profiles: known } = readProfiles(terminal.process);
      const found = Object.entries(known).map(([name, profile]) => shown(name, profile, current));
      await showList(terminal, options, found, () =>
        showTable(terminal, found, {
          NAME: ({ name }) => name,
          URL: ({ url }) => url,
          PROJECT: ({ project }) => project ?? '-',
          KEYS: (each) =>
            [each.has_api_key ? 'personal' : '', each.has_project_key ? 'project' : ''].filter(Boolean).join(', ') ||
            '-',
          'IN USE': ({ in_use: isInUse }) => (isInUse ? 'yes' : ''),
        }),
      );
    });
}

function shown(name: string, { url, project, api_key, project_key }: Profile, current: string | undefined) {
  return {
    name,
    url,
    project: project ?? null,
    has_api_key: api_key !== undefined,
    has_project_key: project_key !== undefined,
    in_use: name === current,
  };
}

function addCommand(profiles: Command, terminal: Terminal): void {
  profiles
    .command('add')
    .description('store or change a service and its keys for this user')
    .argument('<name>', 'name, such as production')
    .addOption(new Option('--url <url>', 'address of the service').env('MILLRACE_URL').makeOptionMandatory())
    .addOption(new Option('--api-key <key>', 'personal API key (phx_…); @file reads it').env('MILLRACE_API_KEY'))
    .addOption(new Option('--project-key <key>', 'project key (phc_…); @file reads it').env('MILLRACE_PROJECT_API_KEY'))
    .option('--project <id>', 'number of the default project')
    .option('--use', 'use it when no profile is named')
    .action((name: string, options: AddOptions) => {
      if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(name)) {
        throw new CommandError('usage', `expected a name of letters, digits and . _ -, got: ${name}`);
      }
      const { current, profiles: known } = readProfiles(terminal.process);
      const profile = profileFrom(options);
      const inUse = options.use === true ? name : current;
      writeProfiles(terminal.process, { current: inUse, profiles: { ...known, [name]: profile } });
      terminal.note(`${name} is stored in ${profilesFile(terminal.process)}${inUse === name ? ' and in use' : ''}`);
    });
}

function profileFrom({ url, apiKey, projectKey, project }: AddOptions): Profile {
  const { username, password } = new URL(checkedUrl(url));
  if (username !== '' || password !== '') {
    throw new CommandError('usage', '--url: expected an address without user and password; use --api-key');
  }
  return {
    url: checkedUrl(url),
    ...(apiKey === undefined ? {} : { api_key: textOrFile('--api-key', apiKey) }),
    ...(projectKey === undefined ? {} : { project_key: textOrFile('--project-key', projectKey) }),
    ...(project === undefined ? {} : { project: checkedProject(project) }),
  };
}

function useCommand(profiles: Command, terminal: Terminal): void {
  profiles
    .command('use')
    .description('set the profile used when none is named; without a name, unset it')
    .argument('[name]', 'name from "profiles list"')
    .action((name: string | undefined) => {
      const known = readProfiles(terminal.process);
      if (name !== undefined) profileOf(known, name);
      writeProfiles(terminal.process, { ...known, current: name });
      terminal.note(name === undefined ? 'no profile is in use' : `${name} is in use`);
    });
}

function removeCommand(profiles: Command, terminal: Terminal): void {
  profiles
    .command('remove')
    .description('remove a service and its keys; the keys stay valid')
    .argument('<name>', 'name from "profiles list"')
    .option('--yes', 'do not ask')
    .action(async (name: string, options: { readonly yes?: boolean }) => {
      const known = readProfiles(terminal.process);
      profileOf(known, name);
      await confirm(terminal.process, `Remove ${name} and its stored keys?`, options);
      const left = Object.fromEntries(Object.entries(known.profiles).filter(([each]) => each !== name));
      writeProfiles(terminal.process, { current: known.current === name ? undefined : known.current, profiles: left });
      terminal.note(`removed ${name}`);
    });
}
