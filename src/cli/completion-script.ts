import type { Command, Option } from 'commander';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** Hidden command that the script calls for ids. */
export const completeIdsName = 'complete-ids';

/** What may follow a command: subcommands, options, and the values of arguments and options with choices. */
interface Place {
  /** Words after the program's name, e.g. `configs list`; empty at the top. */
  readonly path: string;
  readonly words: readonly string[];
  /** Option → its values. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** Kind of the arguments, if they are ids. */
  readonly ids: IdKind | undefined;
}

/** Returns a script that completes all commands, options, fixed values and ids of `program`. */
export function completionScript(shell: Shell, program: Command): string {
  const places = placesOf(program, []);
  const name = program.name();
  if (shell === 'fish') return fish(name, places);
  const script = bash(name, places);
  return shell === 'bash' ? script : `#compdef ${name}\nautoload -U +X bashcompinit && bashcompinit\n${script}`;
}

function placesOf(command: Command, path: readonly string[]): Place[] {
  const options = command.options.filter((option) => !option.hidden);
  const inner = command.commands.filter((each) => each.name() !== completeIdsName);
  const choices = command.registeredArguments.flatMap((argument) => argument.argChoices ?? []);
  const words = [...inner.map((each) => each.name()), ...choices, ...options.map(longName), '--help'];
  const values = new Map(options.map((option) => [longName(option), option.argChoices ?? []] as const));
  const [first] = command.registeredArguments;
  const ids = first && kindOfArgument(path, first.name());
  const place = { path: path.join(' '), words, values, ids };
  return [place, ...inner.flatMap((each) => placesOf(each, [...path, each.name()]))];
}

function longName(option: Option): string {
  return option.long ?? option.flags;
}

/** Returns the options of a place that take ids. */
function idOptions({ values }: Place): (readonly [option: string, kind: IdKind])[] {
  return [...values.keys()].flatMap((option) => {
    const kind = kindOfOption(option);
    return kind === undefined ? [] : [[option, kind] as const];
  });
}

function bash(name: string, places: readonly Place[]): string {
  const cases = places.flatMap((place) => {
    const { path, words, values, ids } = place;
    return [
      ...[...values]
        .filter(([, choices]) => choices.length > 0)
        .map(([option, choices]) => `    '${path}|${option}') words='${choices.join(' ')}' ;;`),
      ...idOptions(place).map(([option, kind]) => `    '${path}|${option}') ids='${kind}' ;;`),
      `    '${path}|'*) words='${words.join(' ')}'${ids === undefined ? '' : ` ids='${ids}'`} ;;`,
    ];
  });
  const known = places.map(({ path }) => `'${path}'`).join('|');
  return [
    `_${name}() {`,
    "  local word path='' next words='' ids=''",
    '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"',
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    '    next="${path:+$path }$word"',
    `    case "$next" in ${known}) path="$next" ;; esac`,
    '  done',
    '  case "$path|$previous" in',
    ...cases,
    '  esac',
    '  if [ -n "$ids" ] && [[ "$current" != -* ]]; then',
    `    words="$words $(${name} ${completeIdsName} "$ids" -- "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null | cut -f 1)"`,
    '  fi',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))',
    '}',
    `complete -F _${name} ${name}`,
  ].join('\n');
}

function fish(name: string, places: readonly Place[]): string {
  const idsOf = (kind: IdKind): string =>
    `(${name} ${completeIdsName} ${kind} -- (commandline -opc)[2..-1] 2>/dev/null)`;
  return places
    .flatMap((place) => {
      const { path, words, values, ids } = place;
      const condition = `test (string join ' ' (__${name}_path)) = '${path}'`;
      const here = `complete -c ${name} -n "${condition}"`;
      const own = new Map(idOptions(place));
      const hasValues = (word: string): boolean => (values.get(word)?.length ?? 0) > 0 || own.has(word);
      const plain = words.filter((word) => !word.startsWith('--') || !hasValues(word));
      const chosen = [...values].filter(([, choices]) => choices.length > 0);
      return [
        `${here} -a '${plain.join(' ')}'`,
        ...(ids === undefined ? [] : [`${here} -a '${idsOf(ids)}'`]),
        ...chosen.map(([option, choices]) => `${here} -l ${option.slice(2)} -xa '${choices.join(' ')}'`),
        ...[...own].map(([option, kind]) => `${here} -l ${option.slice(2)} -xa '${idsOf(kind)}'`),
      ];
    })
    .toSpliced(0, 0, fishPath(name, places))
    .join('\n');
}

/** Returns a function of fish that prints the command typed so far. */
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

/** Kinds of ids that the shell can complete. */
export const idKinds = ['configs', 'runs', 'projects', 'profiles'] as const;
export type IdKind = (typeof idKinds)[number];

const kindsOfOptions: Readonly<Record<string, IdKind>> = {
  '--config': 'configs',
  '--run': 'runs',
  '--project': 'projects',
  '--profile': 'profiles',
};

/** Returns the kind of ids that an option takes, if any. */
function kindOfOption(long: string): IdKind | undefined {
  return kindsOfOptions[long];
}

/**
 * Returns the kind of ids that an argument takes, if any.
 *
 * @param path words of the command, such as `configs`, `show`
 */
function kindOfArgument(path: readonly string[], argument: string): IdKind | undefined {
  const [first, second] = path;
  if (argument === 'run') return 'runs';
  if (argument === 'config') return 'configs';
  if (argument === 'id' && first === 'configs') return 'configs';
  if (argument === 'id' && first === 'projects') return 'projects';
  // `profiles add` takes a new name.
  return first === 'profiles' && second !== 'add' && argument === 'name' ? 'profiles' : undefined;
}
