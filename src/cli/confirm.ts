import { createInterface } from 'node:readline/promises';
import type { CommandProcess } from './terminal.ts';
import { CommandError } from './exit-codes.ts';

/** Asks before something that cannot be undone. Without a terminal `--yes` is required. Errors: usage, interrupted. */
export async function confirm(
  { stdin, stderr }: CommandProcess,
  question: string,
  { yes = false }: { readonly yes?: boolean },
): Promise<void> {
  if (yes) return;
  if (!stdin.isTTY || !stderr.isTTY) {
    throw new CommandError('usage', `${question} Add --yes to skip this question.`);
  }
  const prompt = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await prompt.question(`${question} [y/N] `, { signal: AbortSignal.timeout(300_000) });
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('failed', 'nothing was changed');
  } finally {
    prompt.close();
  }
}
