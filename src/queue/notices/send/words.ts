import type { Letter } from './carrier.ts';

/** One line: whose notice it is and what is the matter. */
export function titleOf({ notice }: Letter): string {
  const where = notice.project === null ? 'Millrace' : `Millrace, ${notice.project.name}`;
  const over = notice.state === 'recovered' ? 'over: ' : '';
  return oneLine(`[${where}] ${over}${notice.summary}`);
}

/** What stands below the title. */
export function linesOf({ notice, url }: Letter): string[] {
  return [notice.action, url ?? ''].filter((line) => line !== '').map(oneLine);
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
}
