import { exactNumber } from '../base/exact-json.ts';
import { Document, Scalar, visit } from 'yaml';

/** A line of white space only. */
const blankLine = /^[ \t]+$/m;

/** Writes a document so that reading the text gives the same document. */
export function writeYaml(document: Document): string {
  visit(document, {
    Scalar: (_, node) => {
      // As a block, a text that consists of such lines would lose its white space.
      if (typeof node.value !== 'string') return;
      // Without quotes a reader merges the value of such a key into its map.
      if (node.value === '<<' || blankLine.test(node.value)) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString({ lineWidth: 0 });
}

/** Writes a JSON value as YAML, numbers with all of their digits. */
export function yamlOf(value: unknown): string {
  return writeYaml(
    new Document(value, (_, part: unknown) => {
      const digits = exactNumber(part);
      return digits === undefined ? part : /^-?\d+$/.test(digits) ? BigInt(digits) : digits;
    }),
  );
}
