import { Option, type Command } from 'commander';
import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import { unusualValueKeys, unusualValues, type UnusualValue } from '../../wire/contract/unusual-values.ts';
import { ChoiceError, parseChoice } from '../../imports/choosing/parse-choice.ts';
import { CommandError } from '../exit-codes.ts';
import { collect, jsonObjectIn, pairsOf, shareOf } from '../read-arguments.ts';

/** What of the source is imported, and as what, as commander gives it. */
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

/** `--padded-ids` as commander calls it: `paddedIds`. */
type RuleOption = CamelCase<UnusualValue>;
type CamelCase<Text extends string> = Text extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Text;

/** As the command line writes them, and as the choice does. */
const policies = {
  'first-user': 'first_user',
  merge: 'merge',
  'never-merge': 'never_merge',
  'device-only': 'device_only',
} as const;

export function addChoiceOptions(command: Command): Command {
  addChoices(command);
  for (const value of unusualValueKeys) command.addOption(ruleOption(value));
  return command.option('--choose <file>', 'JSON that says what to import, and as what; options beside it count more');
}

function addChoices(command: Command): void {
  command
    .option('--only-event <name>', 'only events of this name; * stands for any characters; may be repeated', collect)
    .option('--except-event <name>', 'no events of this name; may be repeated', collect)
    .option('--sample <share>', 'only a share of the distinct ids, 10% or 0.1: all events of each, or none')
    .option('--only-property <name>', 'only properties of this name, of events and persons; may be repeated', collect)
    .option('--except-property <name>', 'no properties of this name; may be repeated', collect)
    .option('--rename-property <old=new>', 'another name for a property; may be repeated', collect)
    .addOption(
      new Option('--identity <policy>', 'which user the events of a device belong to; otherwise first-user').choices(
        Object.keys(policies),
      ),
    )
    .option('--user-agent', 'read the user agent into $browser, $browser_version, $os and others')
    .option(
      '--join <table>',
      'columns of a CSV, Parquet or JSON file as properties; with --on; may be repeated',
      collect,
    )
    .option(
      '--on <key>',
      'property, or distinct_id, that finds the row; key=column where the table calls it so',
      collect,
    )
    .option(
      '--lookup-table <property=table>',
      'a table as --join has it, whose first column finds the row by this property; may be repeated',
      collect,
    );
}

function ruleOption(value: UnusualValue): Option {
  const { rules, what } = unusualValues[value];
  const flag = `--${value.replaceAll('_', '-')} <rule>`;
  return new Option(flag, `${what.charAt(0).toLowerCase()}${what.slice(1, -1)}; otherwise ${rules[0]}`).choices(rules);
}

/** Errors: CommandError usage. Undefined: everything, as the format makes it. */
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
  // Sound: what the type says, letter by letter.
  return value.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) as RuleOption;
}

/** `--join` and `--on` in pairs, in their order, then the lookup tables. */
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

/** What stands before the first `=` is the property. */
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

/** What flags say takes the place of what the file says of the same. */
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
