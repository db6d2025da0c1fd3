import { isIP } from 'node:net';

/** Matches candidates only; `isIP` decides. Bounded repetition keeps the time linear in the length of the text. */
const candidateForm = /(?<![\w.:])[0-9A-Fa-f.:]{3,51}(?![\w:])/g;
const withPort = /^(?<address>\d+\.\d+\.\d+\.\d+)(?<port>:\d{1,5})[.:]?$/;

/** Replaces every IP address in the text, including lists, brackets and ports; ports and brackets stay. */
export function replaceAddresses(text: string, replace: (address: string) => string): string {
  if (!/[.:]/.test(text)) return text;
  return text.replace(candidateForm, (found) => {
    // A full stop or colon after an address belongs to the sentence.
    const address = withPort.exec(found)?.groups?.['address'] ?? found.replace(/(?<=[^:])[.:]$/, '');
    return isIP(address) === 0 ? found : replace(address) + found.slice(address.length);
  });
}
