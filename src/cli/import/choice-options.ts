import type { Command } from 'commander';
import type { ImportChoice, NameLists } from '../../contract/import-choice.ts';
import { ChoiceError, parseChoice } from '../../imports/choosing/parse-choice.ts';
import { CommandError } from '../exit-codes.ts';
import { collect, jsonObjectIn, shareOf } from '../read-arguments.ts';

/** What of the source is imported, and as what, as commander gives it. */
export interface ChoiceOptions {
  readonly choose?: string;
  readonly onlyEvent?: readonly string[];
  readonly exceptEvent?: readonly string[];
  readonly sample?: string;
}

export function addChoiceOptions(command: Command): Command {
  return command
    .option('--only-event <name>', 'only events of this name; * stands for any characters; may be repeated', collect)
    .option('--except-event <name>', 'no events of this name; may be repeated', collect)
    .option('--sample <share>', 'only a share of the distinct ids, 10% or 0.1: all events of each, or none')
    .option('--choose <file>', 'JSON that says what to import, and as what; options beside it count more');
}

/** Errors: CommandError usage. Undefined: everything, as the format makes it. */
export function choiceOf(given: ChoiceOptions): ImportChoice | undefined {
  const file = given.choose === undefined ? {} : parsed(jsonObjectIn('--choose', given.choose));
  return parsed({
    ...file,
    ...listsOf('events', file?.events, given.onlyEvent, given.exceptEvent),
    ...(given.sample === undefined ? {} : { sample: shareOf('--sample', given.sample) }),
  });
}

function listsOf(
  key: 'events',
  inFile: NameLists | undefined,
  only: readonly string[] | undefined,
  except: readonly string[] | undefined,
): object {
  if ((only ?? except) === undefined) return {};
  return { [key]: { ...inFile, ...(only === undefined ? {} : { only }), ...(except === undefined ? {} : { except }) } };
}

function parsed(value: object): ImportChoice | undefined {
  try {
    return parseChoice(value);
  } catch (error) {
    if (error instanceof ChoiceError) throw new CommandError('usage', error.message, { cause: error });
    throw error;
  }
}
