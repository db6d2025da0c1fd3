/** What a shell can be told the ids of. */
export const idKinds = ['configs', 'runs', 'projects', 'profiles'] as const;
export type IdKind = (typeof idKinds)[number];

const ofOptions: Readonly<Record<string, IdKind>> = {
  '--config': 'configs',
  '--run': 'runs',
  '--project': 'projects',
  '--profile': 'profiles',
};

/** Which ids an option takes; undefined: none. */
export function kindOfOption(long: string): IdKind | undefined {
  return ofOptions[long];
}

/** Which ids the arguments of a command are; undefined: none. `path`: `configs show`. */
export function kindOfArgument(path: readonly string[], argument: string): IdKind | undefined {
  const [first, second] = path;
  if (argument === 'run') return 'runs';
  if (argument === 'config') return 'configs';
  if (argument === 'id' && first === 'configs') return 'configs';
  if (argument === 'id' && first === 'projects') return 'projects';
  // `profiles add` takes a new name.
  return first === 'profiles' && second !== 'add' && argument === 'name' ? 'profiles' : undefined;
}
