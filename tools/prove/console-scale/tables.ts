/** Prints the head of a table in Markdown. */
export function tableHead(...heads: readonly string[]): void {
  tableRow(...heads);
  console.log(`|${'---|'.repeat(heads.length)}`);
}

export function tableRow(...cells: readonly (string | number | undefined)[]): void {
  console.log(`| ${cells.join(' | ')} |`);
}

export function ms(value: number): string {
  return value.toFixed(0);
}

export function median(numbers: readonly number[]): number {
  return numbers.toSorted((left, right) => left - right)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}
