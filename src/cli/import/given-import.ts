import type { Command } from 'commander';
import { givenWords, placeholder, type ShownValue } from '../given-words.ts';
import { isSecretSetting } from './open-source.ts';
import type { GivenCommand } from './state-dir.ts';
import type { TransformHere } from './transform-here.ts';

/** The command of an import as it can be given once more to resume it; what is secret in it becomes a placeholder. */
export function givenImport(command: Command, here: Pick<TransformHere, 'request' | 'shownSettings'>): GivenCommand {
  const name = command.name() === 'check' ? 'millrace import check' : 'millrace import';
  return { cwd: process.cwd(), name, words: givenWords(command, shownIn(here)) };
}

function shownIn({ request, shownSettings }: Pick<TransformHere, 'request' | 'shownSettings'>): ShownValue {
  return (option, value) => {
    switch (option) {
      // It would start over.
      case 'again':
        return undefined;
      case 'setting':
        return pair(value, (key) => !isSecretSetting(request, key));
      case 'transformSetting':
        return pair(value, (key) => shownSettings.has(key));
      default:
        return withoutCredentials(value);
    }
  };
}

/** A value that is taken from a file is not in the command. */
function pair(text: string, isShown: (key: string) => boolean): string {
  const key = text.slice(0, text.indexOf('='));
  const value = text.slice(key.length + 1);
  return value.startsWith('@') || isShown(key) ? `${key}=${withoutCredentials(value)}` : `${key}=${placeholder}`;
}

/** A query may be a signature that opens the address. */
function withoutCredentials(text: string): string {
  return text
    .replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, `$1${placeholder}@`)
    .replace(/^(https?:\/\/[^?]*\?).*$/is, `$1${placeholder}`);
}
