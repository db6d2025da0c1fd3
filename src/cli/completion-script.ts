import type { Command, Option } from 'commander';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** What may follow a command: its sub-commands, options, and the values of arguments and options that have a choice. */
interface Place {
  /** Words after the program's name, e.g. `configs list`; empty at the top. */
  readonly path: string;
  readonly words: readonly string[];
  /** Option → its values. */
  readonly values: ReadonlyMap<string, readonly string[]>;
}

/** A script that completes every command, option and fixed value of `program`, made from its own definition. */
export function completionScript(shell: Shell, program: Command): string {
  const places = placesOf(program, []);
  const name = program.name();
  if (shell === 'fish') return fish(name, places);
  const script = bash(name, places);
  return shell === 'bash' ? script : `#compdef ${name}\nautoload -U +X bashcompinit && bashcompinit\n${script}`;
}

function placesOf(command: Command, path: readonly string[]): Place[] {
  const options = command.options.filter((option) => !option.hidden);
  const choices = command.registeredArguments.flatMap((argument) => argument.argChoices ?? []);
  const words = [...command.commands.map((each) => each.name()), ...choices, ...options.map(longName), '--help'];
  const values = new Map(options.map((option) => [longName(option), option.argChoices ?? []] as const));
  const place = { path: path.join(' '), words, values };
  return [place, ...command.commands.flatMap((each) => placesOf(each, [...path, each.name()]))];
}

function longName(option: Option): string {
  return option.long ?? option.flags;
}

function bash(name: string, places: readonly Place[]): string {
  const cases = places.flatMap(({ path, words, values }) => [
    ...[...values]
      .filter(([, choices]) => choices.length > 0)
      .map(([option, choices]) => `    '${path}|${option}') words='${choices.join(' ')}' ;;`),
    `    '${path}|'*) words='${words.join(' ')}' ;;`,
  ]);
  const known = places.map(({ path }) => `'${path}'`).join('|');
  return [
    `_${name}() {`,
    "  local word path='' next words=''",
    '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"',
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    '    next="${path:+$path }$word"',
    `    case "$next" in ${known}) path="$next" ;; esac`,
    '  done',
    '  case "$path|$previous" in',
    ...cases,
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))',
    '}',
    `complete -F _${name} ${name}`,
  ].join('\n');
}

function fish(name: string, places: readonly Place[]): string {
  return places
    .flatMap(({ path, words, values }) => {
      const condition = `test (string join ' ' (__${name}_path)) = '${path}'`;
      const plain = words.filter((word) => !word.startsWith('--') || (values.get(word)?.length ?? 0) === 0);
      const chosen = [...values].filter(([, choices]) => choices.length > 0);
      return [
        `complete -c ${name} -n "${condition}" -a '${plain.join(' ')}'`,
        ...chosen.map(
          ([option, choices]) =>
            `complete -c ${name} -n "${condition}" -l ${option.slice(2)} -xa '${choices.join(' ')}'`,
        ),
      ];
    })
    .toSpliced(0, 0, fishPath(name, places))
    .join('\n');
}

/** Words typed so far that name a command. */
function fishPath(name: string, places: readonly Place[]): string {
  const known = places.filter(({ path }) => path !== '').map(({ path }) => `'${path}'`);
  return [
    `function __${name}_path`,
    '  set -l path',
    '  for word in (commandline -opc)[2..-1]',
    `    contains -- (string join ' ' $path $word) ${known.join(' ')}; and set -a path $word`,
    '  end',
    '  echo $path',
    'end',
  ].join('\n');
}
