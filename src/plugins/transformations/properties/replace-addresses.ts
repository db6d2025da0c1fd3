import { isIP } from 'node:net';

/** Candidates only; `isIP` decides. The repetition is bounded: the time grows with the length of the text and nothing else. */
const candidateForm = /(?<![\w.:])[0-9A-Fa-f.:]{3,51}(?![\w:])/g;
const withPort = /^(?<address>\d+\.\d+\.\d+\.\d+)(?<port>:\d{1,5})[.:]?$/;

/** Every IP address in the text replaced, in lists, in brackets and with ports as well; ports and brackets stay. */
export function replaceAddresses(text: string, replace: (address: string) => string): string {
  if (!/[.:]/.test(text)) return text;
  return text.replace(candidateForm, (found) => {
    // A full stop or colon behind an address belongs to the sentence.
    const address = withPort.exec(found)?.groups?.['address'] ?? found.replace(/(?<=[^:])[.:]$/, '');
    return isIP(address) === 0 ? found : replace(address) + found.slice(address.length);
  });
}
