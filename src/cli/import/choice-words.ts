import type { ImportChoice } from '../../contract/import-choice.ts';
import type { TimeRange } from '../../imports/source.ts';

/** A choice as the words of a command: what flags cannot say stands for the file. `range`: of the run, which has flags of its own. */
export function choiceWords(choice: ImportChoice, range: TimeRange): string[] {
  const { events, properties, sample, time, identity, user_agent: userAgent, join = [] } = choice;
  const isRange = time?.from === range.from && time?.to === range.to;
  const isPlain = join.every(({ as, columns }) => (as ?? columns) === undefined);
  return [
    ...(isRange && isPlain && properties?.values === undefined ? [] : ['--choose', '…']),
    ...repeated('--only-event', events?.only),
    ...repeated('--except-event', events?.except),
    ...(sample === undefined ? [] : ['--sample', sample === 1 ? '100%' : String(sample)]),
    ...repeated('--only-property', properties?.only),
    ...repeated('--except-property', properties?.except),
    ...repeated(
      '--rename-property',
      Object.entries(properties?.rename ?? {}).map(([old, name]) => `${old}=${name}`),
    ),
    ...(identity === undefined ? [] : ['--identity', identity.replace('_', '-')]),
    ...(userAgent === true ? ['--user-agent'] : []),
    ...(isPlain ? join.flatMap(({ table, on, column }) => ['--join', table, '--on', keyWord(on, column)]) : []),
  ];
}

function keyWord(on: string, column: string | undefined): string {
  return column === undefined ? on : `${on}=${column}`;
}

function repeated(flag: string, values: readonly string[] = []): string[] {
  return values.flatMap((value) => [flag, value]);
}
