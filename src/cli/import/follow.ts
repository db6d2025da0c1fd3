import { numberText, startProgressLine } from '../progress-line.ts';
import type { Terminal } from '../terminal.ts';
import type { RunView } from './run-view.ts';
import { runLine } from './show-run.ts';

export interface FollowOptions {
  /** Every step as one line of JSON on stdout. */
  readonly json?: boolean | undefined;
  /** False: nothing until the end. */
  readonly progress: boolean;
}

/** Shows the steps of a run as they come; the last one is the answer. */
export async function follow(
  terminal: Terminal,
  first: RunView,
  steps: AsyncIterable<RunView>,
  { json = false, progress }: FollowOptions,
): Promise<RunView> {
  let view = first;
  const line = progress && !json ? startProgressLine(() => runLine(view), terminal.process.stderr) : undefined;
  let said = '';
  try {
    for await (const step of steps) {
      for (const { stage, done, unit } of step.behind.slice(view.behind.length)) {
        line?.say(`${stage} done: ${numberText(done)} ${unit}`);
      }
      view = step;
      if (json && progress) {
        const text = JSON.stringify({ type: 'progress', ...step });
        if (text !== said) terminal.data(text);
        said = text;
      }
    }
  } finally {
    line?.stop();
  }
  return view;
}
