import type { ImportChoice } from '../../contract/import-choice.ts';
import { oddValueKeys } from '../../contract/odd-values.ts';
import type { TimeRange } from '../../imports/source.ts';

/** A choice as the words of a command: what flags cannot say stands for the file. `range`: of the run, which has flags of its own. */
export function choiceWords(choice: ImportChoice, range: TimeRange): string[] {
  const { events, properties, sample, time, identity, user_agent: userAgent, join = [] } = choice;
  const isRange = time?.from === range.from && time?.to === range.to;
  const isPlain = join.every(({ as, columns }) => (as ?? columns) === undefined);
  const joins = isPlain ? join.filter(({ first_column: isFirst }) => isFirst !== true) : [];
  const lookups = isPlain ? join.filter(({ first_column: isFirst }) => isFirst === true) : [];
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
    ...joins.flatMap(({ table, on, column }) => ['--join', table, '--on', keyWord(on, column)]),
    ...lookups.flatMap(({ table, on }) => ['--lookup-table', `${on}=${table}`]),
    ...oddValueKeys.flatMap((value) => {
      const rule = choice[value];
      return rule === undefined ? [] : [`--${value.replaceAll('_', '-')}`, rule];
    }),
  ];
}

function keyWord(on: string, column: string | undefined): string {
  return column === undefined ? on : `${on}=${column}`;
}

function repeated(flag: string, values: readonly string[] = []): string[] {
  return values.flatMap((value) => [flag, value]);
}
