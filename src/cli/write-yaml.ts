import { Document, Scalar, visit } from 'yaml';

/** A line of nothing but white space. */
const blankLine = /^[ \t]+$/m;

/** The document as text, of which reading makes the same again. */
export function writeYaml(document: Document): string {
  visit(document, {
    Scalar: (_, node) => {
      // Written as a block, a text of such lines alone would lose their white space.
      if (typeof node.value === 'string' && blankLine.test(node.value)) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString({ lineWidth: 0 });
}

/** A value of JSON as YAML. */
export function yamlOf(value: unknown): string {
  return writeYaml(new Document(value));
}
