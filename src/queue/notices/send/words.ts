import type { Letter } from './carrier.ts';

/** Returns one line: the project and the state. */
export function titleOf({ notice }: Letter): string {
  const where = notice.project === null ? 'Millrace' : `Millrace, ${notice.project.name}`;
  const over = notice.state === 'recovered' ? 'over: ' : '';
  return oneLine(`[${where}] ${over}${notice.summary}`);
}

/** Returns the lines below the title. */
export function linesOf({ notice, url }: Letter): string[] {
  return [notice.action, url ?? ''].filter((line) => line !== '').map(oneLine);
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
}
