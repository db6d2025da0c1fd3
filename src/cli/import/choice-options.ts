import { Option, type Command } from 'commander';
import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import { unusualValueKeys, unusualValues, type UnusualValue } from '../../wire/contract/unusual-values.ts';
import { ChoiceError, parseChoice } from '../../imports/choosing/parse-choice.ts';
import { CommandError } from '../exit-codes.ts';
import { collect, jsonObjectIn, pairsOf, shareOf } from '../read-arguments.ts';

/** Options that choose and convert records, as commander gives them. */
export interface ChoiceOptions extends Partial<Record<RuleOption, string>> {
  readonly choose?: string;
  readonly onlyEvent?: readonly string[];
  readonly exceptEvent?: readonly string[];
  readonly sample?: string;
  readonly onlyProperty?: readonly string[];
  readonly exceptProperty?: readonly string[];
  readonly renameProperty?: readonly string[];
  readonly identity?: string;
  readonly userAgent?: boolean;
  readonly join?: readonly string[];
  readonly on?: readonly string[];
  readonly lookupTable?: readonly string[];
}

/** `--padded-ids` as an attribute of commander: `paddedIds`. */
type RuleOption = CamelCase<UnusualValue>;
type CamelCase<Text extends string> = Text extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Text;

/** Policies as options, and as values of the choice. */
const policies = {
  'first-user': 'first_user',
  merge: 'merge',
  'never-merge': 'never_merge',
  'device-only': 'device_only',
} as const;

export function addChoiceOptions(command: Command): Command {
  addChoices(command);
  for (const value of unusualValueKeys) command.addOption(ruleOption(value));
  return command.option(
    '--choose <file>',
    'JSON file that selects and renames what is imported; other options override it',
  );
}

function addChoices(command: Command): void {
  command
    .option('--only-event <name>', 'only events of this name; * matches any characters; repeatable', collect)
    .option('--except-event <name>', 'no events of this name; repeatable', collect)
    .option('--sample <share>', 'only a share of the distinct ids, 10% or 0.1, with all their events')
    .option('--only-property <name>', 'only properties of this name, of events and persons; repeatable', collect)
    .option('--except-property <name>', 'no properties of this name; repeatable', collect)
    .option('--rename-property <old=new>', 'rename a property; repeatable', collect)
    .addOption(
      new Option('--identity <policy>', 'which user the events of a device belong to; default: first-user').choices(
        Object.keys(policies),
      ),
    )
    .option('--user-agent', 'read the user agent into $browser, $browser_version, $os and others')
    .option(
      '--join <table>',
      'add columns of a CSV, Parquet or JSON file as properties; needs --on; repeatable',
      collect,
    )
    .option('--on <key>', 'property, or distinct_id, to look up; key=column if the column has another name', collect)
    .option(
      '--lookup-table <property=table>',
      'a table for --join whose first column is matched with this property; repeatable',
      collect,
    );
}

function ruleOption(value: UnusualValue): Option {
  const { rules, what } = unusualValues[value];
  const flag = `--${value.replaceAll('_', '-')} <rule>`;
  return new Option(flag, `${what.charAt(0).toLowerCase()}${what.slice(1, -1)}; default: ${rules[0]}`).choices(rules);
}

/** Returns the choice; `undefined` imports everything unchanged. Errors: CommandError usage. */
export function choiceOf(given: ChoiceOptions): ImportChoice | undefined {
  const file = given.choose === undefined ? {} : parsed(jsonObjectIn('--choose', given.choose));
  return parsed({
    ...file,
    ...listsOf('events', file?.events, { only: given.onlyEvent, except: given.exceptEvent }),
    ...listsOf('properties', file?.properties, {
      only: given.onlyProperty,
      except: given.exceptProperty,
      rename: given.renameProperty && pairsOf('--rename-property', given.renameProperty),
    }),
    ...(given.identity === undefined ? {} : { identity: policies[given.identity as keyof typeof policies] }),
    ...joinsOf(given),
    ...(given.userAgent === true ? { user_agent: true } : {}),
    ...(given.sample === undefined ? {} : { sample: shareOf('--sample', given.sample) }),
    ...rulesOf(given),
  });
}

function rulesOf(given: ChoiceOptions): Readonly<Record<string, string>> {
  return Object.fromEntries(
    unusualValueKeys.flatMap((value) => {
      const rule = given[optionOf(value)];
      return rule === undefined ? [] : [[value, rule]];
    }),
  );
}

function optionOf(value: UnusualValue): RuleOption {
  // Sound: the same conversion as the type's.
  return value.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) as RuleOption;
}

/** Pairs `--join` with `--on` in order, followed by the lookup tables. */
function joinsOf({ join = [], on = [], lookupTable = [] }: ChoiceOptions): Pick<ImportChoice, 'join'> {
  if (join.length !== on.length) {
    throw new CommandError(
      'usage',
      `expected an --on for every --join, got ${join.length} --join and ${on.length} --on`,
    );
  }
  if (join.length + lookupTable.length === 0) return {};
  const joined = join.map((table, index) => {
    const [key = '', column] = on[index]?.split('=') ?? [];
    return { table, on: key, ...(column === undefined ? {} : { column }) };
  });
  return { join: [...joined, ...lookupTable.map(lookupOf)] };
}

/** Splits at the first `=`: the property precedes it. */
function lookupOf(text: string): NonNullable<ImportChoice['join']>[number] {
  const at = text.indexOf('=');
  if (at <= 0 || at === text.length - 1) {
    throw new CommandError(
      'usage',
      `--lookup-table: expected a property and a table, such as sku=products.csv, got: ${text}`,
    );
  }
  return { table: text.slice(at + 1), on: text.slice(0, at), first_column: true };
}

/** Overrides a key of the file with the flags. */
function listsOf(key: string, inFile: object | undefined, flags: Readonly<Record<string, unknown>>): object {
  const given = Object.entries(flags).filter(([, value]) => value !== undefined);
  return given.length === 0 ? {} : { [key]: { ...inFile, ...Object.fromEntries(given) } };
}

function parsed(value: object): ImportChoice | undefined {
  try {
    return parseChoice(value);
  } catch (error) {
    if (error instanceof ChoiceError) throw new CommandError('usage', error.message, { cause: error });
    throw error;
  }
}
